import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { storageFaults } from '../../src/storage/faults.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { openJournalParts } from '../support/journal-parts.ts';
import { folderOfThisTest, startAppender, storageOfThisTest } from '../support/storage.ts';

/** Each begins where the one before was killed. */
const KILLS = 4;

interface Event {
  readonly text: string;
}

async function openJournals() {
  const temporary = await storageOfThisTest();
  return { ...temporary, storage: temporary.storage, journals: temporary.storage.journals<Event>('events') };
}

const events = (count: number, text = 'event'): Event[] =>
  Array.from({ length: count }, (_, index) => ({ text: `${text} ${index}` }));

const upTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

describe('a journal', () => {
  test('gives back what was appended, in order, from any number on', async () => {
    const { journals } = await openJournals();
    await journals.append('run', 1, events(3));
    await journals.append('run', 4, events(2, 'later'));
    expect(journals.read('run', 0).map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(journals.read('run', 2)).toEqual([
      { seq: 3, value: { text: 'event 2' } },
      { seq: 4, value: { text: 'later 0' } },
      { seq: 5, value: { text: 'later 1' } },
    ]);
    expect(journals.read('run', 5)).toEqual([]);
  });

  test('knows its last number, also after a restart; an unknown one has none', async () => {
    const { journals, reopen } = await openJournals();
    expect(journals.lastSeq('run')).toBe(0);
    await journals.append('run', 1, events(700), 'flushed');
    expect(journals.lastSeq('run')).toBe(700);
    const again = (await reopen()).journals<Event>('events');
    expect(again.lastSeq('run')).toBe(700);
    expect(again.read('run', 699)).toEqual([{ seq: 700, value: { text: 'event 699' } }]);
  });

  test('is read in pages of bounded entries and bytes, and always by at least one entry', async () => {
    const { journals } = await openJournals();
    await journals.append('run', 1, events(2_000));
    expect(journals.read('run', 0)).toHaveLength(1_000);
    expect(journals.read('run', 10, { entriesMax: 7 }).map(({ seq }) => seq)).toEqual([
      11, 12, 13, 14, 15, 16, 17,
    ]);
    expect(journals.read('run', 0, { bytesMax: 200 }).length).toBeLessThan(20);
    await journals.append('big', 1, [{ text: 'x'.repeat(2_000_000) }, { text: 'small' }]);
    expect(journals.read('big', 0, { bytesMax: 100 }).map(({ seq }) => seq)).toEqual([1]);

    const seen: number[] = [];
    for (let page = journals.read('run', 0, { bytesMax: 3_000 }); page.length > 0; ) {
      seen.push(...page.map(({ seq }) => seq));
      page = journals.read('run', seen.at(-1) ?? 0, { bytesMax: 3_000 });
    }
    expect(seen).toEqual(upTo(2_000));
  });

  test('takes effect in the order of the calls when nobody awaits', async () => {
    const { journals } = await openJournals();
    const appends = upTo(300).map((seq) => journals.append('run', seq, [{ text: `${seq}` }]));
    await Promise.all(appends);
    expect(journals.read('run', 0).map(({ value }) => Number(value.text))).toEqual(upTo(300));
  });

  test('does not mix with the many that are written at the same time, nor with other collections', async () => {
    const { storage, journals } = await openJournals();
    const other = storage.journals<Event>('others');
    await Promise.all(
      upTo(200).map(async (run) => {
        for (let round = 0; round < 3; round += 1) {
          await journals.append(`run-${run}`, round * 2 + 1, events(2, `${run}`));
        }
        await other.append(`run-${run}`, 1, events(1, 'other'));
      }),
    );
    for (const run of upTo(200)) {
      const entries = journals.read(`run-${run}`, 0);
      expect(entries.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(entries.every(({ value }) => value.text.startsWith(`${run} `))).toBe(true);
      expect(other.lastSeq(`run-${run}`)).toBe(1);
    }
    expect(new Set(journals.ids())).toEqual(new Set(upTo(200).map((run) => `run-${run}`)));
  });

  test('is gone when it expires, and its neighbours stay', async () => {
    const { journals } = await openJournals();
    for (const id of ['a', 'a b', 'b']) {
      for (let first = 1; first < 2_000; first += 2) void journals.append(id, first, events(2));
    }
    await journals.append('b', 2_001, events(1));
    await journals.expire('a');
    expect(journals.lastSeq('a')).toBe(0);
    expect(journals.read('a', 0)).toEqual([]);
    expect([...journals.ids()]).toEqual(['a b', 'b']);
    expect(journals.lastSeq('a b')).toBe(2_000);
    await journals.append('a', 1, events(1, 'again'));
    expect(journals.read('a', 0)).toEqual([{ seq: 1, value: { text: 'again 0' } }]);
  });

  test('that is flooded refuses by a fault, keeps no gap, and takes appends again afterwards', async () => {
    const { journals } = await openJournals();
    const big = 'x'.repeat(1024 * 1024);
    const appends = upTo(80).map((seq) => journals.append('run', seq, [{ text: big }]));
    appends.push(journals.append('run', 81, [{ text: 'small' }]));
    const outcomes = await Promise.allSettled(appends);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.length).toBeGreaterThan(10);
    expect(refused.every(({ reason }) => reason.code === 'storage_busy' && reason.retryable)).toBe(true);
    const last = journals.lastSeq('run');
    expect(last).toBe(81 - refused.length);
    await journals.append('run', last + 1, [{ text: 'again' }]);
    expect(journals.read('run', last)).toEqual([{ seq: last + 1, value: { text: 'again' } }]);
  });

  test('that is flooded when the disk is full takes appends again afterwards, though nothing else is written', async () => {
    const { environment, journals: open } = openJournalParts(await folderOfThisTest());
    const journals = open<Event>('events');
    vi.spyOn(environment, 'commit').mockRejectedValue(storageFaults.storage_full('the disk is full'));
    const big = 'x'.repeat(1024 * 1024);
    const appends = upTo(80).map((seq) => journals.append('run', seq, [{ text: big }]));
    const outcomes = await Promise.allSettled(appends);
    const codes = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code);
    expect(new Set(codes)).toEqual(new Set(['storage_full', 'storage_busy']));
    vi.restoreAllMocks();
    await journals.append('run', 1, [{ text: 'again' }]);
    expect(journals.read('run', 0)).toEqual([{ seq: 1, value: { text: 'again' } }]);
  });

  test('of no values is no journal', async () => {
    const { journals } = await openJournals();
    await journals.append('run', 1, []);
    expect([...journals.ids()]).toEqual([]);
  });
});

test('after kill -9 in the midst of appends every acknowledged entry is there and no number is missing, also while it is compacted', async () => {
  const directory = await folderOfThisTest();
  const seed = Number(process.env.TEST_SEED ?? Date.now());
  console.info(`seed ${seed}`);
  const moments = fc.sample(fc.integer({ min: 1, max: 2_000 }), { numRuns: KILLS, seed });
  for (const acknowledgementsMin of moments) {
    const appender = startAppender(directory, 8);
    const acknowledged = new Map<string, number>();
    let acknowledgements = 0;
    for await (const line of appender.lines()) {
      const [id = '', seq = ''] = line.split(' ');
      acknowledged.set(id, Number(seq));
      acknowledgements += 1;
      // Lines that it had printed before it died still arrive, and count.
      if (acknowledgements === acknowledgementsMin) await appender.kill();
    }
    expect(acknowledged.size).toBeGreaterThan(0);

    const storage = await openStorage({ directory, primary: true });
    const journals = storage.journals<{ readonly seq: number; readonly text: string }>('runs');
    for (const [id, seq] of acknowledged) expect(journals.lastSeq(id)).toBeGreaterThanOrEqual(seq);
    for (const id of journals.ids()) {
      const entries = journals.read(id, 0, { entriesMax: Infinity, bytesMax: Infinity });
      expect(entries.map(({ seq }) => seq)).toEqual(upTo(journals.lastSeq(id)));
      expect(entries.every(({ seq, value }) => value.seq === seq && value.text === 'x'.repeat(100))).toBe(
        true,
      );
    }
    await storage.close();
  }
}, 120_000);
