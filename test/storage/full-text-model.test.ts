import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { TextDocument } from '../../src/storage/contract.ts';
import { storageOfThisTest } from '../support/storage.ts';

const K1 = 1.2;
const B = 0.75;
const WORDS = ['ant', 'bee', 'cat', 'dog', 'elk', 'fox'];

const words = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 });
const id = fc.constantFrom(...Array.from({ length: 12 }, (_, index) => `doc-${index}`));
const group = fc.constantFrom('g1', 'g2');
const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('index' as const), id, words, group }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), id }) },
);
const write = fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 20 }), fails: fc.boolean() });
/** Writes of one turn share a commit. */
const turn = fc.array(write, { minLength: 1, maxLength: 3 });

interface Filed {
  readonly words: readonly string[];
  readonly group: string;
}

// The reference: every document is scored from its words alone, and all are sorted.
test('searches find what scoring every document from scratch finds, whatever was filed, replaced and removed', async () => {
  const { storage } = await storageOfThisTest();
  const seed = Number(process.env.TEST_SEED ?? Date.now());
  console.info(`seed ${seed}`);
  let round = 0;

  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), words, async (turns, question) => {
      round += 1;
      const texts = storage.fullText(`texts${round}`);
      let expected = new Map<string, Filed>();
      for (const writes of turns) {
        const outcomes = writes.map(({ steps, fails }) =>
          storage.write('committed', (tx) => {
            const model = new Map(expected);
            for (const one of steps) {
              if (one.kind === 'remove') {
                tx.removeText(texts, one.id);
                model.delete(one.id);
                continue;
              }
              const document: TextDocument = {
                id: one.id,
                text: one.words.join(' '),
                labels: { group: one.group },
              };
              tx.indexText(texts, document);
              model.set(one.id, { words: one.words, group: one.group });
            }
            if (fails) throw new Error('on purpose');
            expected = model;
          }),
        );
        const settled = await Promise.allSettled(outcomes);
        expect(settled.map(({ status }) => status)).toEqual(
          writes.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
        );

        expect(texts.documentCount()).toBe(expected.size);
        for (const limit of [3, 100]) {
          for (const where of [undefined, 'g1']) {
            const filter = where === undefined ? {} : { where: { group: [where] } };
            const hits = texts.search({ text: question.join(' '), limit, ...filter });
            const wanted = scored(expected, question).filter(
              (hit) => where === undefined || expected.get(hit.id)?.group === where,
            );
            expect(hits.map((hit) => hit.score)).toEqual(
              wanted.slice(0, limit).map(({ score }) => expect.closeTo(score, 9)),
            );
            // Scores that are equal on paper may differ in their last digit, so their order is no matter here.
            const scoreOf = new Map(wanted.map((hit) => [hit.id, hit.score]));
            expect(new Set(hits.map((hit) => hit.id)).size).toBe(hits.length);
            for (const hit of hits) expect(hit.score).toBeCloseTo(scoreOf.get(hit.id) ?? NaN, 9);
          }
        }
      }
    }),
    { numRuns: 40, seed },
  );
});

function scored(documents: ReadonlyMap<string, Filed>, question: readonly string[]) {
  const all = [...documents];
  const tokens = all.reduce((sum, [, document]) => sum + document.words.length, 0);
  const averageLength = tokens / all.length;
  const hits: { id: string; score: number }[] = [];
  for (const [documentId, document] of all) {
    let score = 0;
    for (const word of new Set(question)) {
      const occurrences = document.words.filter((other) => other === word).length;
      if (occurrences === 0) continue;
      const carriers = all.filter(([, other]) => other.words.includes(word)).length;
      const worth = Math.log(1 + (all.length - carriers + 0.5) / (carriers + 0.5));
      const length = document.words.length / averageLength;
      score += (worth * occurrences * (K1 + 1)) / (occurrences + K1 * (1 - B + B * length));
    }
    if (score > 0) hits.push({ id: documentId, score });
  }
  return hits.sort((a, b) => b.score - a.score);
}
