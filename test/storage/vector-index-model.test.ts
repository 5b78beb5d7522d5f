import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PassageFilter, Passages, VectorIndex } from '../../src/storage/contract.ts';
import { loadHnsw } from '../../src/storage/hnsw.ts';
import { VectorRoom } from '../../src/storage/vector-room.ts';
import { storageOfThisTest } from '../support/storage.ts';

const ENGINE = 'engine-1';
const DIMENSIONS = 6;
/** A graph with fewer vectors than its search keeps in sight answers exactly, so that the model need not be patient. */
const IDS = Array.from({ length: 60 }, (_, n) => `p${n}`);

const id = fc.constantFrom(...IDS);
const owner = fc.constantFrom('ada', 'bob', 'eve');
const tags = fc.subarray(['x', 'y', 'z']);
const vector = fc
  .array(fc.integer({ min: -50, max: 50 }), { minLength: DIMENSIONS, maxLength: DIMENSIONS })
  .filter((members) => members.some((member) => member !== 0))
  .map(unit);
const filter: fc.Arbitrary<PassageFilter> = fc.oneof(
  fc.constant({}),
  fc.record(
    { owners: fc.subarray(['ada', 'bob', 'nobody']), tags: fc.subarray(['x', 'y', 'never']) },
    { requiredKeys: [] },
  ),
);
type Labels = { readonly id: string; readonly owner: string; readonly tags: readonly string[] };
type Change =
  | (Labels & { readonly kind: 'put'; readonly vector: Float32Array })
  | (Labels & { readonly kind: 'relabel' })
  | { readonly kind: 'remove'; readonly id: string };
const put = fc.record({ kind: fc.constant('put' as const), id, owner, tags, vector });
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('relabel' as const), id, owner, tags }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), id }) },
);
/** Before it ends. */
const mostly = fc.constantFrom(true, true, false);
const command = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      // Few are not worth a snapshot.
      changes: fc.oneof(
        fc.array(change, { minLength: 1, maxLength: 3 }),
        fc.array(change, { minLength: 20, maxLength: 60, size: 'max' }),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('work' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('restart' as const), isSettled: mostly }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove all' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('damage' as const),
      isSettled: mostly,
      how: fc.constantFrom('delete', 'cut', 'flip'),
      at: fc.nat({ max: 4_000 }),
    }),
  },
);

interface Filed {
  readonly owner: string;
  readonly tags: readonly string[];
  readonly vector: Float32Array;
}

// The reference: a map of what is filed, of which every member is compared.
test('searches find what comparing all finds, whatever was put, removed, settled, restarted and damaged', async () => {
  const opened = await storageOfThisTest();
  const seed = Number(process.env['TEST_SEED'] ?? Date.now());
  console.info(`seed ${seed}`);
  let round = 0;
  const seen = { graphs: 0, restoredGraphs: 0 };

  await fc.assert(
    fc.asyncProperty(
      fc.array(put, { minLength: 0, maxLength: 60, size: 'max' }),
      fc.array(command, { minLength: 1, maxLength: 10, size: 'max' }),
      fc.array(
        fc.record({ vector, filter, limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.constant(70)) }),
        {
          minLength: 2,
          maxLength: 4,
        },
      ),
      async (first, commands, queries) => {
        round += 1;
        const name = `passages-${round}`;
        const model = new Map<string, Filed>();
        let passages = opened.storage.passages(name);
        let index = openIndex(passages);
        await write(first);
        await settle(index);
        for (const one of commands) {
          if (one.kind === 'write') await write(one.changes);
          else if (one.kind === 'work') await settle(index);
          else if (one.kind === 'remove all') {
            await write([...model.keys()].map((gone) => ({ kind: 'remove', id: gone })));
          } else {
            if (one.isSettled) await settle(index);
            await index.close();
            if (one.kind === 'damage') damage(opened.directory, one.how, one.at);
            passages = (await opened.reopen()).passages(name);
            index = openIndex(passages);
            // Opens it, and no more.
            await index.work();
            if (index.statistics().inGraph > 0) seen.restoredGraphs += 1;
          }
          if (index.statistics().inGraph > 0) seen.graphs += 1;
          for (const query of queries) expectSame(index, model, query);
        }
        await settle(index);
        for (const query of queries) expectSame(index, model, query);
        expect(index.statistics()).toMatchObject({ vectors: model.size, onDisk: 0, isFull: false });
        await index.close();

        async function write(changes: readonly Change[]): Promise<void> {
          await opened.storage.write('committed', (tx) => {
            for (const one of changes) {
              const before = model.get(one.id);
              if (one.kind === 'remove') {
                expect(tx.removePassage(passages, one.id)).toBe(before !== undefined);
                model.delete(one.id);
              } else if (one.kind === 'put') {
                const { vector: made, ...labels } = one;
                tx.putPassage(passages, {
                  ...labels,
                  text: 'text',
                  embedding: { engine: ENGINE, vector: made },
                });
                model.set(one.id, { owner: one.owner, tags: one.tags, vector: made });
              } else if (before !== undefined) {
                tx.putPassage(passages, { id: one.id, owner: one.owner, tags: one.tags, text: 'text' });
                model.set(one.id, { ...before, owner: one.owner, tags: one.tags });
              }
            }
          });
        }
      },
    ),
    { seed, numRuns: 40, endOnFailure: true },
  );
  // Without the library everything is compared, and the rest of this test holds all the same.
  if ((await loadHnsw()).kind === 'missing')
    console.warn('hnswlib-node is not installed: no graph was tried');
  else {
    expect(seen.graphs).toBeGreaterThan(0);
    expect(seen.restoredGraphs).toBeGreaterThan(0);
  }
}, 60_000);

function openIndex(passages: Passages): VectorIndex {
  return passages.openIndex(ENGINE, {
    room: new VectorRoom(64 * 1024 * 1024),
    graphVectorsMin: 12,
    prefersGraph: true,
    snapshotChangesMin: 5,
  });
}

async function settle(index: VectorIndex): Promise<void> {
  while (await index.work());
}

function expectSame(
  index: VectorIndex,
  model: ReadonlyMap<string, Filed>,
  query: { readonly vector: Float32Array; readonly filter: PassageFilter; readonly limit: number },
): void {
  const { owners, tags: wanted } = query.filter;
  const expected = [...model]
    .filter(([, filed]) => owners === undefined || owners.includes(filed.owner))
    .filter(([, filed]) => wanted === undefined || wanted.some((tag: string) => filed.tags.includes(tag)))
    .map(([, filed]) => cosine(query.vector, filed.vector))
    .sort((a, b) => b - a)
    .slice(0, query.limit);
  const hits = index.search({ vector: query.vector, limit: query.limit, ...query.filter });
  expect(hits).toHaveLength(expected.length);
  for (const [place, { similarity }] of hits.entries()) {
    // Added up in another order, and with fewer digits.
    expect(Math.abs(similarity - (expected[place] as number))).toBeLessThan(1e-5);
  }
  for (const hit of hits) {
    const filed = model.get(hit.id) as Filed;
    expect(hit.similarity).toBeCloseTo(cosine(query.vector, filed.vector), 4);
    if (owners !== undefined) expect(owners).toContain(filed.owner);
  }
  expect(new Set(hits.map((hit) => hit.id)).size).toBe(hits.length);
}

/** Of all snapshots that lie there. */
function damage(directory: string, how: string, at: number): void {
  const folder = join(directory, 'vectors');
  let names: string[] = [];
  try {
    names = readdirSync(folder);
  } catch {
    return; // None was written yet.
  }
  for (const name of names) {
    const file = join(folder, name);
    const bytes = readFileSync(file);
    if (bytes.length === 0) continue;
    if (how === 'delete') rmSync(file);
    else if (how === 'cut') truncateSync(file, at % bytes.length);
    else {
      bytes[at % bytes.length] = (bytes[at % bytes.length] as number) ^ 0x55;
      writeFileSync(file, bytes);
    }
  }
}

function unit(members: readonly number[]): Float32Array {
  const length = Math.hypot(...members);
  return Float32Array.from(members, (member) => member / length);
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, member, i) => sum + member * (b[i] as number), 0);
}
