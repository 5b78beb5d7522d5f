import { cpSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Storage, VectorIndex, VectorIndexOptions } from '../../src/storage/contract.ts';
import { loadHnsw } from '../../src/storage/hnsw.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { VectorRoom } from '../../src/storage/vector-room.ts';
import { FILED_ENGINE, FILED_IN, filedVector } from '../support/filed-vectors.ts';
import {
  folderOfThisTest,
  startVectorFiler,
  startWithoutHnswlib,
  storageOfThisTest,
} from '../support/storage.ts';

const hasGraphs = (await loadHnsw()).kind === 'available';
if (!hasGraphs) console.warn('SKIPPED: hnswlib-node is not installed, the graphs of vectors are not tried');

const MB = 1024 * 1024;
const ownerOf = (n: number): string => (n % 100 === 0 ? 'rare' : n % 2 === 0 ? 'even' : 'odd');

async function file(storage: Storage, from: number, to: number): Promise<void> {
  const passages = storage.passages(FILED_IN);
  await storage.write('committed', (tx) => {
    for (let n = from; n < to; n += 1) {
      const embedding = { engine: FILED_ENGINE, vector: filedVector(n) };
      tx.putPassage(passages, { id: `p${n}`, owner: ownerOf(n), text: '', embedding });
    }
  });
}

function open(storage: Storage, options: Partial<VectorIndexOptions> = {}): VectorIndex {
  return storage.passages(FILED_IN).openIndex(FILED_ENGINE, { room: new VectorRoom(64 * MB), ...options });
}

async function settle(index: VectorIndex): Promise<void> {
  while (await index.work());
}

/** The first `limit` of all that are filed, by comparing all. */
function nearest(count: number, n: number, limit: number, owner?: string): string[] {
  const query = filedVector(n);
  const similarityOf = (other: number): number =>
    filedVector(other).reduce((sum, member, i) => sum + member * (query[i] as number), 0);
  return Array.from({ length: count }, (_, other) => ({ other, similarity: similarityOf(other) }))
    .filter(({ other }) => owner === undefined || ownerOf(other) === owner)
    .sort((a, b) => b.similarity - a.similarity)
    .slice(0, limit)
    .map(({ other }) => `p${other}`);
}

const found = (index: VectorIndex, n: number, limit: number, owner?: string): string[] =>
  index.search({ vector: filedVector(n), limit, ...(owner && { owners: [owner] }) }).map(({ id }) => id);

describe.skipIf(!hasGraphs)('an index of 2,500 vectors', () => {
  const COUNT = 2_500;
  const withGraph = { graphVectorsMin: 2_000, prefersGraph: true };

  test('has a graph, which finds what comparing finds, through wide filters and narrow ones', async () => {
    const { storage } = await storageOfThisTest();
    await file(storage, 0, COUNT);
    const index = open(storage, withGraph);
    expect(found(index, COUNT + 1, 10)).toEqual(nearest(COUNT, COUNT + 1, 10)); // Before anything is settled.
    await settle(index);
    expect(index.statistics()).toMatchObject({ vectors: COUNT, inGraph: COUNT, graphs: 'available' });
    for (const owner of [undefined, 'even', 'rare', 'nobody']) {
      let hits = 0;
      let wanted = 0;
      for (let n = COUNT; n < COUNT + 20; n += 1) {
        const expected = nearest(COUNT, n, 10, owner);
        const ids = found(index, n, 10, owner);
        expect(ids).toHaveLength(expected.length);
        wanted += expected.length;
        hits += ids.filter((id) => expected.includes(id)).length;
      }
      expect(hits).toBeGreaterThanOrEqual(0.97 * wanted);
    }
    await index.close();
  });

  test('is built anew when half of it is removed, and given up when few are left', async () => {
    const { storage } = await storageOfThisTest();
    await file(storage, 0, COUNT);
    const index = open(storage, { ...withGraph, graphVectorsMin: 1_000 });
    await settle(index);
    const passages = storage.passages(FILED_IN);
    const remove = (from: number, to: number) =>
      storage.write('committed', (tx) => {
        for (let n = from; n < to; n += 1) tx.removePassage(passages, `p${n}`);
      });
    await remove(0, 1_000);
    await settle(index);
    expect(index.statistics()).toMatchObject({ vectors: 1_500, inGraph: 1_500, removedInGraph: 1_000 });
    await remove(1_000, 1_300);
    await settle(index);
    expect(index.statistics()).toMatchObject({ vectors: 1_200, inGraph: 1_200, removedInGraph: 0 });
    expect(found(index, 1_400, 1)).toEqual(['p1400']);
    await remove(1_300, 2_400);
    await settle(index);
    expect(index.statistics()).toMatchObject({ vectors: 100, inGraph: 0, inMemory: 100 });
    expect(found(index, 2_450, 1)).toEqual(['p2450']);
    await index.close();
  });

  test('without room for a graph compares in memory, without room for that on disk, and is as right', async () => {
    const { storage } = await storageOfThisTest();
    await file(storage, 0, COUNT);
    const expected = nearest(COUNT, COUNT + 1, 10);
    for (const [room, place] of [
      [new VectorRoom(200 * 1024), 'inMemory'],
      [new VectorRoom(0), 'onDisk'],
    ] as const) {
      const index = open(storage, { ...withGraph, room });
      await settle(index);
      expect(index.statistics()).toMatchObject({ vectors: COUNT, [place]: COUNT, inGraph: 0, isFull: true });
      expect(room.bytes).toBeLessThanOrEqual(room.bytesMax);
      expect(found(index, COUNT + 1, 10)).toEqual(expected);
      await index.close();
    }
  });

  test('gives back all its room when it is closed', async () => {
    const { storage } = await storageOfThisTest();
    await file(storage, 0, COUNT);
    const room = new VectorRoom(64 * MB);
    const index = open(storage, { ...withGraph, room });
    await index.work();
    await index.work();
    expect(room.bytes).toBeGreaterThan(0);
    await settle(index);
    await index.close();
    expect(room.bytes).toBe(0);
  });
});

test('an engine that is given up leaves no vector, no snapshot and no mark on its passages', async () => {
  const { storage, directory } = await storageOfThisTest();
  await file(storage, 0, 60);
  const index = open(storage, { graphVectorsMin: 20, prefersGraph: true, snapshotChangesMin: 20 });
  await settle(index);
  await index.close();
  const passages = storage.passages(FILED_IN);
  await passages.dropVectors(FILED_ENGINE);
  expect(passages.engines()).toEqual([]);
  expect(passages.isEmbedded('p1', FILED_ENGINE)).toBe(false);
  expect(passages.count()).toBe(60);
  if (hasGraphs) expect(readdirSync(join(directory, 'vectors'))).toEqual([]);
});

test('a store that is brought back from a backup does not take a younger graph for its own', async () => {
  const opened = await storageOfThisTest();
  const options = { graphVectorsMin: 20, prefersGraph: true, snapshotChangesMin: 20 };
  const fileAndKeep = async (storage: Storage, from: number, to: number) => {
    await file(storage, from, to);
    const index = open(storage, options);
    await settle(index);
    await index.close();
    await storage.close();
  };
  await fileAndKeep(opened.storage, 0, 60);
  const [store, backup] = [join(opened.directory, 'store'), join(opened.directory, 'backup')];
  cpSync(store, backup, { recursive: true });
  await fileAndKeep(await opened.reopen(), 60, 200);
  rmSync(store, { recursive: true });
  cpSync(backup, store, { recursive: true });

  const index = open(await opened.reopen(), options);
  await index.work();
  expect(index.statistics()).toMatchObject({ vectors: 60, inGraph: 0 });
  await settle(index);
  expect(index.statistics()).toMatchObject({ vectors: 60, inGraph: hasGraphs ? 60 : 0 });
  expect(found(index, 100, 10)).toEqual(nearest(60, 100, 10));
  await index.close();
});

test('on a machine without the library everything is compared, and found', async () => {
  const lines = startWithoutHnswlib(await folderOfThisTest()).lines();
  const { value } = await lines.next();
  expect(JSON.parse(value as string)).toMatchObject({
    graphs: 'missing',
    areFound: true,
    vectors: 100,
    inMemory: 100,
    inGraph: 0,
  });
  expect(await lines.next()).toMatchObject({ done: true });
});

// The process dies wherever it happens to be: between commits, in a snapshot's file, or before the store names it.
test('after every kill, what was acknowledged is found, and no half of a snapshot is left', async () => {
  const directory = await folderOfThisTest();
  let acknowledged = 0;
  for (const lines of [3, 9, 5, 12]) {
    const filer = startVectorFiler(directory);
    let read = 0;
    for await (const line of filer.lines()) {
      acknowledged = Number(line);
      read += 1;
      if (read === lines) break;
    }
    await filer.kill();

    const storage = await openStorage({ directory, primary: true });
    try {
      const count = storage.passages(FILED_IN).count();
      expect(count).toBeGreaterThanOrEqual(acknowledged);
      const index = open(storage, { graphVectorsMin: 20, prefersGraph: true, snapshotChangesMin: 1e9 });
      await index.work(); // As the snapshot left it.
      for (let n = 0; n < count; n += 17) expect(found(index, n, 1)).toEqual([`p${n}`]);
      await settle(index);
      for (let n = 0; n < count; n += 17) expect(found(index, n, 1)).toEqual([`p${n}`]);
      await index.close();
      if (hasGraphs) expect(readdirSync(join(directory, 'vectors')).length).toBeLessThanOrEqual(1);
    } finally {
      await storage.close();
    }
  }
}, 60_000);
