import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/std/ids.ts';
import type { Storage, VectorIndex, VectorIndexOptions } from '../../src/storage/contract.ts';
import { GraphJudge, type JudgeOptions } from '../../src/storage/graph-recall.ts';
import { loadHnsw } from '../../src/storage/hnsw.ts';
import { Nearest, product } from '../../src/storage/nearest.ts';
import { VectorRoom } from '../../src/storage/vector-room.ts';
import { storageOfThisTest } from '../support/storage.ts';

const DIMENSIONS = 96;
const ENGINE = 'engine-1';
const COUNT = 1_000;

/** Spread evenly over all directions: the hardest there is for a graph. */
function direction(number: number): Float32Array {
  const { float } = seededRandom(number + 1);
  const members = Array.from({ length: DIMENSIONS }, () => float() + float() + float() - 1.5);
  const length = Math.hypot(...members);
  return Float32Array.from(members, (member) => member / length);
}

const NOW = { vectors: 1_000, lastNumber: 1_000, dimensions: DIMENSIONS };
const FIRST_FIFTY = Array.from({ length: 50 }, (_, n) => n);

/** Its graph finds nine of ten with 400 in sight, and all with 800. */
function judgeOf(options: Partial<JudgeOptions> = {}): GraphJudge {
  return new GraphJudge({
    target: 0.95,
    isTimeNoMatter: true,
    compare: () => FIRST_FIFTY,
    ask: (_, width) => FIRST_FIFTY.slice(0, width >= 800 ? 50 : width >= 400 ? 45 : 20),
    passages: (count) => Array.from({ length: count }, (_, n) => ({ number: n + 1, point: direction(n) })),
    ...options,
  });
}

function judge(one: GraphJudge, now = NOW): void {
  while (one.step(now));
}

describe('a judge of graphs', () => {
  test('takes the least width that finds enough, and widens it for those who want more', () => {
    const one = judgeOf();
    expect(one.width(10, 1_000)).toBeNull();
    judge(one);
    expect(one.judgement).toMatchObject({ width: 800, found: 1, by: 'noise', vectors: 1_000 });
    expect(one.width(10, 1_000)).toBe(800);
    expect(one.width(100, 1_000)).toBe(1_600);
    const content = judgeOf({ target: 0.89 });
    judge(content);
    expect(content.judgement).toMatchObject({ width: 400, found: expect.closeTo(0.9) });
  });

  test('does not take luck for enough: answers that differ have to be better on the whole', () => {
    let asked = 0;
    const wavering = judgeOf({
      // All of them three times, then three quarters: 0.94 on the whole.
      ask: (_, width) => {
        asked += 1;
        return FIRST_FIFTY.slice(0, width >= 800 || asked % 4 !== 0 ? 50 : 38);
      },
      target: 0.93,
    });
    judge(wavering);
    expect(wavering.judgement?.width).toBe(800);
  });

  test('rejects one that never finds enough, and one that is slower than to compare', () => {
    const poor = judgeOf({ ask: () => FIRST_FIFTY.slice(0, 40) });
    judge(poor);
    expect(poor.judgement).toMatchObject({ width: null, found: expect.closeTo(0.8) });
    expect(poor.width(10, 1_000)).toBeNull();
    const slow = judgeOf({
      isTimeNoMatter: false,
      ask: () => {
        for (const endMs = performance.now() + 1; performance.now() < endMs; );
        return FIRST_FIFTY;
      },
    });
    judge(slow);
    expect(slow.judgement).toMatchObject({ width: null, found: 1 });
  });

  test('has no opinion any more when half has changed, and judges again', () => {
    const one = judgeOf();
    judge(one);
    expect(one.width(10, 1_500)).toBe(800);
    expect(one.width(10, 1_501)).toBeNull();
    judge(one, { ...NOW, lastNumber: 1_501 });
    expect(one.width(10, 1_501)).toBe(800);
  });

  test('asks as others asked, when there were enough of them', () => {
    const asked = new Set<Float32Array>();
    const one = judgeOf({
      compare: (question) => {
        asked.add(question);
        return FIRST_FIFTY;
      },
    });
    judge(one);
    asked.clear();
    for (let n = 0; n < 64; n += 1) one.note(direction(n));
    judge(one);
    expect(one.judgement?.by).toBe('questions');
    expect([...asked]).toEqual(Array.from({ length: 64 }, (_, n) => direction(n)));
    for (let n = 0; n < 63; n += 1) one.note(direction(n));
    expect(one.step(NOW)).toBe(false); // Only when twice as many have asked.
    one.note(direction(63));
    expect(one.step(NOW)).toBe(true);
  });

  test('does not believe a judgement by another target', () => {
    const content = judgeOf({ target: 0.5 });
    judge(content);
    const demanding = judgeOf();
    demanding.restart(content.judgement);
    expect(demanding.judgement).toBeNull();
    const other = judgeOf({ target: 0.5 });
    other.restart(content.judgement);
    expect(other.judgement).toEqual(content.judgement);
  });
});

async function file(storage: Storage, from: number, to: number): Promise<void> {
  const passages = storage.passages('filed');
  await storage.write('committed', (tx) => {
    for (let n = from; n < to; n += 1) {
      const embedding = { engine: ENGINE, vector: direction(n) };
      tx.putPassage(passages, { id: `p${n}`, owner: 'ada', text: '', embedding });
    }
  });
}

function open(storage: Storage, options: Partial<VectorIndexOptions> = {}): VectorIndex {
  return storage.passages('filed').openIndex(ENGINE, {
    room: new VectorRoom(64 * 1024 * 1024),
    graphVectorsMin: 500,
    prefersGraph: true,
    ...options,
  });
}

async function settle(index: VectorIndex): Promise<void> {
  while (await index.work());
}

/** Of the nearest ten of forty questions. */
function shareFound(index: VectorIndex, count: number): number {
  let found = 0;
  const filed = Array.from({ length: count }, (_, n) => direction(n));
  for (let question = 0; question < 40; question += 1) {
    const vector = direction(1_000_000 + question);
    const expected = new Nearest(10);
    for (const [n, one] of filed.entries()) expected.offer(n, product(vector, one));
    const ids = new Set(index.search({ vector, limit: 10 }).map(({ id }) => id));
    found += expected.all.filter(({ number }) => ids.has(`p${number}`)).length;
  }
  return found / 400;
}

const hasGraphs = (await loadHnsw()).kind === 'available';

describe.skipIf(!hasGraphs)('an index of vectors that have no neighbourhoods', () => {
  test('asks its graph widely enough, also after a start', async () => {
    const opened = await storageOfThisTest();
    await file(opened.storage, 0, COUNT);
    const careless = open(opened.storage, { recallTarget: 0, snapshotChangesMin: 1 });
    await settle(careless);
    expect(careless.statistics().judgement).toMatchObject({ width: 100 });
    const { found } = careless.statistics().judgement ?? { found: 1 };
    expect(found).toBeLessThan(0.999);
    await careless.close();

    const careful = open(opened.storage, { recallTarget: 0.999 });
    await settle(careful);
    const { judgement } = careful.statistics();
    expect(judgement?.width).toBeGreaterThan(100);
    expect(shareFound(careful, COUNT)).toBeGreaterThanOrEqual(0.99);
    await careful.close();

    const next = open(await opened.reopen(), { recallTarget: 0.999 });
    await next.work();
    const { inGraph, ...others } = next.statistics();
    expect(others).toMatchObject({ inMemory: 0, judgement });
    // The last few that were added may not have been worth another snapshot; they follow.
    expect(inGraph).toBeGreaterThan(0.8 * COUNT);
    await settle(next);
    expect(next.statistics().inGraph).toBe(COUNT);
    await next.close();
  });

  test('gives up a graph that finds too little, and builds none at the next start', async () => {
    const opened = await storageOfThisTest();
    await file(opened.storage, 0, COUNT);
    const unattainable = { recallTarget: 1.01 };
    const index = open(opened.storage, unattainable);
    await settle(index);
    expect(index.statistics()).toMatchObject({
      inGraph: 0,
      inMemory: COUNT,
      judgement: { width: null, vectors: COUNT },
    });
    expect(shareFound(index, COUNT)).toBe(1);
    await index.close();

    const storage = await opened.reopen();
    const next = open(storage, unattainable);
    await next.work();
    await next.work();
    expect(next.statistics().judgement).toMatchObject({ width: null, vectors: COUNT });
    await settle(next);
    expect(next.statistics()).toMatchObject({ inGraph: 0, judgement: { vectors: COUNT } });
    await file(storage, COUNT, 2 * COUNT);
    await settle(next);
    expect(next.statistics()).toMatchObject({ inGraph: 0, judgement: { width: null, vectors: 2 * COUNT } });
    await next.close();
  });
});
