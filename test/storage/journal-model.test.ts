import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JournalEntry } from '../../src/storage/contract.ts';
import { EAGER, type JournalParts, LAZY, openJournalParts } from '../support/journal-parts.ts';
import { folderOfThisTest, joinFromThread, type StorageThread } from '../support/storage.ts';

const NAME = 'ordered';

const JOURNALS = ['a', 'a b', 'ü', 'long'];

const journal = fc.constantFrom(...JOURNALS);
const onThread = fc.boolean();
/** Sizes of the values of one append: small ones, one that fills a page of the log, one that is longer than any. */
const sizes: fc.Arbitrary<number[]> = fc.oneof(
  { weight: 8, arbitrary: fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 6 }) },
  { weight: 1, arbitrary: fc.constant<number[]>([20_000, 5, 20_000]) },
  { weight: 1, arbitrary: fc.constant<number[]>([100_000]) },
  { weight: 1, arbitrary: fc.constant(Array.from({ length: 600 }, () => 3)) },
);
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('append' as const), journal, sizes, onThread }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('seal' as const), journal, onThread }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('expire' as const), journal, onThread }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('read' as const), journal, onThread, from: fc.nat(30) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('compact' as const), waits: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reopen' as const), eager: fc.boolean() }) },
);

type Model = Map<string, string[]>;

// The reference: a list of values a journal.
test('journals hold what plain lists would hold, whatever thread writes, while they are compacted and expire', async () => {
  const seed = Number(process.env.TEST_SEED ?? Date.now());
  console.info(`seed ${seed}`);
  const directory = await folderOfThisTest();
  let parts = openJournalParts(directory, EAGER);
  parts.compaction.start();
  const thread = await joinFromThread(directory);
  let round = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      round += 1;
      const idOf = (name: string): string => `${round} ${name}`;
      const model: Model = new Map();
      const compactions: Promise<void>[] = [];
      for (const [number, one] of steps.entries()) {
        const journals = parts.journals<string>(NAME);
        const id = 'journal' in one ? idOf(one.journal) : '';
        switch (one.kind) {
          case 'append': {
            const list = model.get(id) ?? [];
            const values = one.sizes.map((size, index) => `${number}.${index} ${'x'.repeat(size)}`);
            const firstSeq = list.length + 1;
            if (one.onThread) await thread.order({ kind: 'append', journal: id, firstSeq, values });
            else await journals.append(id, firstSeq, values);
            model.set(id, [...list, ...values]);
            break;
          }
          case 'seal':
          case 'expire':
            if (one.onThread) await thread.order({ kind: one.kind, journal: id });
            else await journals[one.kind](id);
            if (one.kind === 'expire') model.delete(id);
            break;
          case 'read':
            await check(model, parts, one.onThread ? thread : null, id, one.from);
            break;
          case 'compact':
            if (one.waits) await parts.compaction.work();
            else compactions.push(parts.compaction.work());
            break;
          case 'reopen':
            await parts.close();
            parts = openJournalParts(directory, one.eager ? EAGER : LAZY);
            break;
        }
      }
      for (const name of JOURNALS) {
        for (const reader of [null, thread]) await check(model, parts, reader, idOf(name), 0);
      }
      const ids = [...parts.journals(NAME).ids()].filter((id) => id.startsWith(`${round} `));
      expect(ids.sort()).toEqual([...model.keys()].sort());
      await parts.compaction.work();
      await Promise.all(compactions);
    }),
    { numRuns: 120, seed },
  );
}, 120_000);

async function check(
  model: Model,
  parts: JournalParts,
  thread: StorageThread | null,
  journalId: string,
  from: number,
): Promise<void> {
  const list = model.get(journalId) ?? [];
  const afterSeq = Math.min(from, list.length);
  const journals = parts.journals<string>(NAME);
  const seen: JournalEntry<string>[] = [];
  for (let cursor = afterSeq; ; ) {
    const entries =
      thread === null
        ? journals.read(journalId, cursor, { bytesMax: 50_000 })
        : ((await thread.order({ kind: 'readJournal', journal: journalId, afterSeq: cursor }))
            .value as JournalEntry<string>[]);
    if (entries.length === 0) break;
    seen.push(...entries);
    cursor = entries.at(-1)?.seq ?? cursor;
  }
  expect(seen).toEqual(list.slice(afterSeq).map((value, index) => ({ seq: afterSeq + index + 1, value })));
  const lastSeq =
    thread === null
      ? journals.lastSeq(journalId)
      : (await thread.order({ kind: 'lastSeq', journal: journalId })).value;
  expect(lastSeq).toBe(list.length);
}
