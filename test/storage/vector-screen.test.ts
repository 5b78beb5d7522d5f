import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Nearest, product } from '../../src/storage/nearest.ts';
import { VectorRoom } from '../../src/storage/vector-room.ts';
import { VectorScreen } from '../../src/storage/vector-screen.ts';

const MB = 1024 * 1024;

/** From far too small to far too large, and none at all. */
const scale = fc.constantFrom(0, 1e-40, 1e-6, 1, 1, 1, 300, 1e15);
const member = fc.oneof(fc.integer({ min: -100, max: 100 }), fc.constantFrom(0, 0, 10_000));

// The reference: all of them, compared one by one.
test('a screen loses none of the nearest, of whatever length the vectors are', () => {
  const seed = Number(process.env['TEST_SEED'] ?? Date.now());
  console.info(`seed ${seed}`);
  const vectors = fc.integer({ min: 1, max: 70 }).chain((dimensions) => {
    const vector = fc
      .tuple(scale, fc.array(member, { minLength: dimensions, maxLength: dimensions }))
      .map(([times, members]) => Float32Array.from(members, (one) => (one / 100) * times));
    return fc.record({
      filed: fc.array(vector, { minLength: 1, maxLength: 60, size: 'max' }),
      question: vector,
      limit: fc.integer({ min: 1, max: 12 }),
    });
  });
  fc.assert(
    fc.property(vectors, ({ filed, question, limit }) => {
      const screen = new VectorScreen(question.length, new VectorRoom(MB));
      for (const [slot, vector] of filed.entries()) expect(screen.put(slot, vector)).toBe(true);
      const expected = new Nearest(limit);
      for (const [slot, vector] of filed.entries()) expected.offer(slot, product(question, vector));
      const sweep = screen.sweep(question, limit);
      for (const slot of filed.keys()) sweep.add(slot);
      const candidates = sweep.end();
      const slots = candidates.map(({ slot }) => slot);
      for (const { number } of expected.all) expect(slots).toContain(number);
      for (const { slot, atMost } of candidates) {
        expect(atMost).toBeGreaterThanOrEqual(product(question, filed[slot] as Float32Array));
      }
      screen.close();
    }),
    { seed, numRuns: 150 },
  );
});

test('of 1,500 vectors of 384 dimensions it leaves few to be compared', () => {
  const room = new VectorRoom(8 * MB);
  const screen = new VectorScreen(384, room);
  const vectorOf = (n: number): Float32Array =>
    Float32Array.from({ length: 384 }, (_, i) => Math.sin((n + 1) * (i + 1) * 12.9898));
  for (let n = 0; n < 1_500; n += 1) screen.put(n, vectorOf(n));
  const sweep = screen.sweep(vectorOf(5_000), 10);
  for (let n = 0; n < 1_500; n += 1) sweep.add(n);
  expect(sweep.end().length).toBeLessThan(200);
  expect(room.bytes).toBeLessThan(1_500 * 1.25 * 400);
  screen.close();
  expect(room.bytes).toBe(0);
});

test('a screen takes no more than its room, and what is put there stays', () => {
  const room = new VectorRoom(300 * 1024);
  const screen = new VectorScreen(384, room);
  const put = Array.from({ length: 1_000 }, (_, n) => screen.put(n, new Float32Array(384).fill(n)));
  const count = put.indexOf(false);
  expect(count).toBeGreaterThan(500);
  expect(put.slice(count)).not.toContain(true);
  expect(room.bytes).toBeLessThanOrEqual(room.bytesMax);
  const sweep = screen.sweep(new Float32Array(384).fill(1), 1);
  for (let n = 0; n < count; n += 1) sweep.add(n);
  expect(sweep.end()[0]?.slot).toBe(count - 1);
});
