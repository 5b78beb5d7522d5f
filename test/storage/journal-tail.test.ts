import { describe, expect, test } from 'vitest';
import type { JournalEntry, Journals } from '../../src/storage/contract.ts';
import { JournalTail } from '../../src/storage/journal-tail.ts';
import { openTemporaryStorage } from '../support/storage.ts';

const never = new AbortController().signal;
const tailOf = (journals: Journals<number>) => new JournalTail(journals, { show: (entry) => entry });

test('a tail replays what is there, then follows what is appended, without a gap or a repeat', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const tail = tailOf(journals);
  let isOpen = true;
  await journals.append('a', 1, [10, 20, 30]);
  const seen: number[] = [];
  const reading = (async () => {
    for await (const entries of tail.follow('a', 1, () => isOpen, never)) {
      seen.push(...entries.map(({ seq }) => seq));
    }
  })();
  for (let seq = 4; seq <= 200; seq += 1) {
    await journals.append('a', seq, [seq * 10]);
    tail.wake('a');
  }
  isOpen = false;
  tail.wake('a');
  await reading;
  expect(seen).toEqual(Array.from({ length: 199 }, (_, i) => i + 2));
});

test('a tail of a journal that is closed ends when all is read', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  await journals.append('a', 1, [1, 2]);
  const batches = await Array.fromAsync(tailOf(journals).follow('a', 0, () => false, never));
  expect(batches.flat().map(({ value }) => value)).toEqual([1, 2]);
});

test('an aborted reader that waits for more is let go', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const abort = new AbortController();
  const reading = Array.fromAsync(tailOf(journals).follow('a', 0, () => true, abort.signal));
  abort.abort();
  expect(await reading).toEqual([]);
});

test('a reader that stops in the middle does not keep another from its entries', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const tail = tailOf(journals);
  let isOpen = true;
  await journals.append('a', 1, [1]);
  const stopped = tail.follow('a', 0, () => isOpen, never);
  await stopped.next();
  const other = Array.fromAsync(tail.follow('a', 0, () => isOpen, never));
  await journals.append('a', 2, [2]);
  isOpen = false;
  tail.wake('a');
  expect((await other).flat()).toHaveLength(2);
  await stopped.return();
});

/** Readers of a journal in memory that counts how often it is read; turns of the event loop come when the test says so. */
class Crowd {
  readonly seen: number[][];
  readonly ended: Promise<unknown>;
  reads = 0;
  readonly #entries: string[] = [];
  readonly #turns: (() => void)[] = [];
  #isOpen = true;
  readonly #tail = new JournalTail<string, number>(
    { read: (...given) => this.#read(...given) } as Pick<Journals<string>, 'read'> as Journals<string>,
    {
      show: ({ seq }) => seq,
      isClosing: (value) => value === 'close',
      afterTurn: (run) => this.#turns.push(run),
    },
  );

  constructor(size: number, journal = 'a') {
    this.seen = Array.from({ length: size }, () => []);
    this.ended = Promise.all(this.seen.map((seen) => this.follow(journal, seen)));
  }

  async follow(journal: string, seen: number[]): Promise<void> {
    for await (const items of this.#tail.follow(journal, 0, () => this.#isOpen)) seen.push(...items);
  }

  append(...values: string[]): void {
    this.#entries.push(...values);
    this.#tail.wake('a', this.#entries.length);
  }

  close(): void {
    this.#isOpen = false;
    this.#tail.wake('a');
  }

  /** How many readers have seen so much. */
  count(lastSeq: number): number {
    return this.seen.filter((seen) => seen.at(-1) === lastSeq).length;
  }

  /** One turn of the event loop; false when nobody waits for one. */
  async turn(): Promise<boolean> {
    const turn = this.#turns.shift();
    turn?.();
    await settled();
    return turn !== undefined;
  }

  async rest(): Promise<void> {
    await settled();
    while (await this.turn());
  }

  #read(...[, afterSeq]: Parameters<Journals<string>['read']>): readonly JournalEntry<string>[] {
    this.reads += 1;
    return this.#entries.slice(afterSeq).map((value, i) => ({ seq: afterSeq + 1 + i, value }));
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}

describe('many readers of one journal', () => {
  test('are given what was read for one of them', async () => {
    const crowd = new Crowd(1_000);
    await crowd.rest();
    crowd.reads = 0;
    crowd.append('one', 'two');
    await crowd.rest();
    expect(crowd.count(2)).toBe(1_000);
    expect(crowd.reads).toBe(1);
  });

  test('take turns, and get in the next one what has gathered', async () => {
    const crowd = new Crowd(1_000);
    await crowd.rest();
    crowd.append('one');
    await settled();
    const first = crowd.count(1);
    expect(first).toBeGreaterThan(0);
    expect(first).toBeLessThan(300);
    // Those who have been served already come after those who have not, and then get both at once.
    crowd.append('two');
    crowd.append('three');
    await crowd.turn();
    expect([crowd.count(1), crowd.count(3)]).toEqual([2 * first, 0]);
    await crowd.rest();
    expect(crowd.seen).toEqual(Array.from({ length: 1_000 }, () => [1, 2, 3]));
    expect(crowd.reads).toBeLessThan(20);
  });

  test('do not keep a reader of another journal waiting for more than a turn', async () => {
    const crowd = new Crowd(1_000);
    await crowd.rest();
    crowd.append('one');
    await settled();
    const other: number[] = [];
    void crowd.follow('b', other);
    await crowd.turn();
    await crowd.turn();
    expect(other).toEqual([1]);
    expect(crowd.count(1)).toBeLessThan(1_000);
  });

  test('see the last entry when the journal is closed, and not before', async () => {
    const crowd = new Crowd(300);
    crowd.append('one', 'close');
    await crowd.rest();
    expect(crowd.count(1)).toBe(300);
    crowd.close();
    await crowd.rest();
    await crowd.ended;
    expect(crowd.count(2)).toBe(300);
  });
});

test('a reader hears of a journal that cannot be read, and others of the rest', async () => {
  await using data = await openTemporaryStorage();
  const journals = data.storage.journals<number>('numbers');
  const broken = new Error('unreadable');
  const tail = new JournalTail<number, number>(
    {
      ...journals,
      read: (journal, ...rest) => {
        if (journal === 'b') throw broken;
        return journals.read(journal, ...rest);
      },
    },
    { show: ({ value }) => value },
  );
  await journals.append('a', 1, [10]);
  const unreadable = Array.fromAsync(tail.follow('b', 0, () => false));
  const readable = Array.fromAsync(tail.follow('a', 0, () => false));
  await expect(unreadable).rejects.toBe(broken);
  expect(await readable).toEqual([[10]]);
});
