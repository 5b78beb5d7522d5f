import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Key, RangeOptions, Transaction } from '../../src/storage/contract.ts';
import { storageOfThisTest } from '../support/storage.ts';

interface Row {
  readonly group: string;
  readonly rank: number;
}

const ROW_INDEXES = {
  byRank: (row: Row) => [row.rank],
  byGroup: (row: Row) => (row.rank < 0 ? null : row.group),
};

const key = fc.tuple(fc.constantFrom('a', 'b', 'ab'), fc.integer({ min: 0, max: 4 }));
const row = fc.record({ group: fc.constantFrom('x', 'y'), rank: fc.integer({ min: -2, max: 3 }) });
const step = fc.oneof(
  fc.record({ kind: fc.constant('put' as const), key, row }),
  fc.record({ kind: fc.constant('remove' as const), key }),
  fc.record({ kind: fc.constant('look' as const), reverse: fc.boolean(), from: key, to: key }),
);
const write = fc.record({ steps: fc.array(step, { maxLength: 12 }), fails: fc.boolean() });

// The reference: rows in a sorted list, filtered and sorted anew for every question.
test('a table and its indexes hold what a plain sorted list would hold, inside and outside of writes', async () => {
  const { storage } = await storageOfThisTest();
  let round = 0;
  const seed = Number(process.env.TEST_SEED ?? Date.now());
  console.info(`seed ${seed}`);

  await fc.assert(
    fc.asyncProperty(fc.array(write, { maxLength: 8 }), async (writes) => {
      round += 1;
      const table = storage.table<Row, typeof ROW_INDEXES>({ name: `rows${round}`, indexes: ROW_INDEXES });
      let expected = new Map<string, Row>();

      const check = (
        model: Map<string, Row>,
        source: Pick<typeof table, 'range' | 'by'>,
        options: RangeOptions,
      ) => {
        expect([...source.range(options)]).toEqual(rangeOf(model, options));
        expect([...source.by('byRank')]).toEqual(sortedBy(model, (value) => [value.rank]));
        const named = { prefix: 'x' };
        const grouped = sortedBy(model, (value) => (value.rank < 0 ? null : [value.group]));
        expect([...source.by('byGroup', named)]).toEqual(grouped.filter(({ value }) => value.group === 'x'));
      };

      for (const { steps, fails } of writes) {
        const outcome = storage.write('committed', (tx: Transaction) => {
          const model = new Map(expected);
          for (const one of steps) {
            if (one.kind === 'put') {
              tx.put(table, one.key, one.row);
              model.set(JSON.stringify(one.key), one.row);
            } else if (one.kind === 'remove') {
              expect(tx.remove(table, one.key)).toBe(model.delete(JSON.stringify(one.key)));
            } else {
              const inside = {
                range: (options?: RangeOptions) => tx.range(table, options),
                by: (index: 'byRank' | 'byGroup', options?: RangeOptions) => tx.by(table, index, options),
              };
              check(model, inside, { start: one.from, end: one.to, reverse: one.reverse });
            }
          }
          if (fails) throw new Error('on purpose');
          return model;
        });
        if (fails) await expect(outcome).rejects.toThrow('on purpose');
        else expected = await outcome;
        check(expected, table, {});
        expect(table.count()).toBe(expected.size);
      }
    }),
    { numRuns: 40, seed },
  );
});

type Listed = { readonly key: Key; readonly value: Row };

function listOf(model: Map<string, Row>): Listed[] {
  const list = Array.from(model, ([text, value]) => ({ key: JSON.parse(text) as [string, number], value }));
  return list.sort((a, b) => compare(a.key, b.key));
}

function rangeOf(model: Map<string, Row>, { start, end, reverse = false }: RangeOptions): Listed[] {
  const list = listOf(model).filter(({ key: at }) => {
    const fromStart = start === undefined ? 1 : compare(at as Part[], start as Part[]) * (reverse ? -1 : 1);
    const toEnd = end === undefined ? -1 : compare(at as Part[], end as Part[]) * (reverse ? -1 : 1);
    return fromStart >= 0 && toEnd < 0;
  });
  return reverse ? list.reverse() : list;
}

function sortedBy(model: Map<string, Row>, keyOf: (value: Row) => Part[] | null): Listed[] {
  const filed = listOf(model).flatMap((entry) => {
    const indexKey = keyOf(entry.value);
    return indexKey === null ? [] : [{ indexKey, entry }];
  });
  filed.sort(
    (a, b) => compare(a.indexKey, b.indexKey) || compare(a.entry.key as Part[], b.entry.key as Part[]),
  );
  return filed.map(({ entry }) => entry);
}

type Part = string | number;

function compare(a: readonly Part[], b: readonly Part[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index] as Part;
    if (part !== other) return part < other ? -1 : 1;
  }
  return 0;
}
