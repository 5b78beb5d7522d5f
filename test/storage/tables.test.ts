import { describe, expect, test } from 'vitest';
import type { Entry, Key } from '../../src/storage/contract.ts';
import { storageOfThisTest } from '../support/storage.ts';

interface Task {
  readonly owner: string;
  readonly dueMs: number;
  readonly done: boolean;
}

const TASK_INDEXES = {
  byOwner: (task: Task) => [task.owner, task.dueMs],
  open: (task: Task) => (task.done ? null : task.dueMs),
};

async function openTasks() {
  const temporary = await storageOfThisTest();
  const tasks = temporary.storage.table<Task, typeof TASK_INDEXES>({ name: 'tasks', indexes: TASK_INDEXES });
  const put = (key: Key, task: Task): Promise<void> =>
    temporary.storage.write('committed', (tx) => tx.put(tasks, key, task));
  return { ...temporary, storage: temporary.storage, tasks, put };
}

const keys = (entries: Iterable<Entry<unknown>>): Key[] => Array.from(entries, ({ key }) => key);

describe('a table', () => {
  test('gives back what was put, after a restart too', async () => {
    const { tasks, put, reopen } = await openTasks();
    await put(['t', 1], { owner: 'ada', dueMs: 5, done: false });
    expect(tasks.get(['t', 1])).toEqual({ owner: 'ada', dueMs: 5, done: false });
    expect(tasks.has(['t', 1])).toBe(true);
    expect(tasks.get(['t', 2])).toBeUndefined();
    const again = (await reopen()).table<Task>({ name: 'tasks' });
    expect(again.get(['t', 1])?.owner).toBe('ada');
    expect(again.count()).toBe(1);
  });

  test('keeps the rows of one table apart from those of another whose name begins alike', async () => {
    const { storage } = await storageOfThisTest();
    const short = storage.table<string>({ name: 'a' });
    const long = storage.table<string>({ name: 'ab' });
    await storage.write('committed', (tx) => {
      tx.put(short, 'b', 'short');
      tx.put(long, 'b', 'long');
    });
    expect([...short.range()]).toEqual([{ key: 'b', value: 'short' }]);
    expect([...long.range()]).toEqual([{ key: 'b', value: 'long' }]);
  });

  test('counts its rows through puts, replacements and removals', async () => {
    const { storage, tasks, put } = await openTasks();
    await put('a', { owner: 'ada', dueMs: 1, done: false });
    await put('a', { owner: 'ada', dueMs: 2, done: false });
    await put('b', { owner: 'ada', dueMs: 3, done: false });
    expect(tasks.count()).toBe(2);
    expect(await storage.write('committed', (tx) => tx.remove(tasks, 'a'))).toBe(true);
    expect(await storage.write('committed', (tx) => tx.remove(tasks, 'a'))).toBe(false);
    expect(tasks.count()).toBe(1);
  });

  test('keeps values of every plain kind, and big ones', async () => {
    const { storage } = await storageOfThisTest();
    const table = storage.table<unknown>({ name: 'values' });
    const bytes = new Uint8Array([0, 1, 255]);
    const value = {
      text: 'ß 日本 😀 \0',
      list: [1, -2.5, 2 ** 53, true, null],
      nested: { empty: {} },
      big: 'x'.repeat(300_000),
    };
    await storage.write('committed', (tx) => {
      tx.put(table, 'value', value);
      tx.put(table, 'bytes', { bytes });
    });
    expect(table.get('value')).toEqual(value);
    expect(Uint8Array.from((table.get('bytes') as { bytes: Uint8Array }).bytes)).toEqual(bytes);
  });

  test('refuses a key that is too long or half a character, by a fault', async () => {
    const { storage } = await storageOfThisTest();
    const table = storage.table<number>({ name: 'values' });
    expect(() => table.get('x'.repeat(3_000))).toThrow(
      expect.objectContaining({ code: 'storage_key_invalid' }),
    );
    const half = storage.write('committed', (tx) => tx.put(table, '\ud800', 1));
    await expect(half).rejects.toMatchObject({ code: 'storage_key_invalid', kind: 'invalid' });
  });
});

describe('a scan', () => {
  async function openNumbered() {
    const { storage } = await storageOfThisTest();
    const table = storage.table<number>({ name: 'numbered' });
    await storage.write('committed', (tx) => {
      for (const group of ['a', 'b', 'c']) {
        for (let index = 0; index < 30; index += 1) tx.put(table, [group, index], index);
      }
    });
    return table;
  }

  test('runs in the order of the keys, within its bounds', async () => {
    const table = await openNumbered();
    expect(keys(table.range({ start: ['b', 28], end: ['c', 1] }))).toEqual([
      ['b', 28],
      ['b', 29],
      ['c', 0],
    ]);
    expect(keys(table.range())).toHaveLength(90);
  });

  test('runs backwards from its start to its end', async () => {
    const table = await openNumbered();
    expect(keys(table.range({ reverse: true, start: ['b', 1], end: ['a', 29] }))).toEqual([
      ['b', 1],
      ['b', 0],
    ]);
  });

  test('takes the beginning of a key for a bound, in both directions', async () => {
    const table = await openNumbered();
    const group = { start: ['b'], end: ['b', Number.MAX_SAFE_INTEGER] };
    expect(keys(table.range(group))).toHaveLength(30);
    const backwards = keys(table.range({ reverse: true, start: ['b', Number.MAX_SAFE_INTEGER], end: ['b'] }));
    expect(backwards).toEqual(keys(table.range(group)).reverse());
    expect(keys(table.range({ reverse: true, start: ['b'], end: ['a'] }))).toHaveLength(60);
    expect(keys(table.range({ start: 'c' }))).toHaveLength(30);
  });

  test('stays within a prefix', async () => {
    const table = await openNumbered();
    expect(keys(table.range({ prefix: 'b' }))).toHaveLength(30);
    expect(keys(table.range({ prefix: ['b'], start: ['b', 28] }))).toHaveLength(2);
    expect(keys(table.range({ prefix: ['b'], reverse: true, limit: 1 }))).toEqual([['b', 29]]);
    expect(keys(table.range({ prefix: 'nothing' }))).toEqual([]);
  });

  test('skips and stops where it is told', async () => {
    const table = await openNumbered();
    expect(keys(table.range({ offset: 40, limit: 2 }))).toEqual([
      ['b', 10],
      ['b', 11],
    ]);
    expect(keys(table.range({ limit: 0 }))).toEqual([]);
    expect(keys(table.range({ offset: 100 }))).toEqual([]);
  });

  test('goes on while rows that it has passed are removed and rows ahead are put', async () => {
    const { storage } = await storageOfThisTest();
    const table = storage.table<number>({ name: 'numbered' });
    await storage.write('committed', (tx) => {
      for (let index = 0; index < 100; index += 1) tx.put(table, index, index);
    });
    const seen: Key[] = [];
    for (const { key } of table.range()) {
      seen.push(key);
      await storage.write('committed', (tx) => tx.remove(table, key));
    }
    expect(seen).toHaveLength(100);
    expect(table.count()).toBe(0);
  });
});

describe('an index', () => {
  test('orders rows by its own key and gives their primary keys', async () => {
    const { tasks, put } = await openTasks();
    await put('late', { owner: 'ada', dueMs: 30, done: false });
    await put('early', { owner: 'ada', dueMs: 10, done: true });
    await put('other', { owner: 'bob', dueMs: 20, done: false });
    expect(keys(tasks.by('byOwner'))).toEqual(['early', 'late', 'other']);
    expect(keys(tasks.by('byOwner', { prefix: 'ada' }))).toEqual(['early', 'late']);
    expect(keys(tasks.by('byOwner', { reverse: true, start: ['ada', Infinity], end: ['ada'] }))).toEqual([
      'late',
      'early',
    ]);
    expect(keys(tasks.by('open'))).toEqual(['other', 'late']);
  });

  test('leaves out its end and takes in its start, in both directions', async () => {
    const { tasks, put } = await openTasks();
    for (const dueMs of [10, 20, 30]) await put(`t${dueMs}`, { owner: 'ada', dueMs, done: false });
    expect(keys(tasks.by('open', { start: 10, end: 30 }))).toEqual(['t10', 't20']);
    expect(keys(tasks.by('open', { reverse: true, start: 30, end: 10 }))).toEqual(['t30', 't20']);
  });

  test('follows a row that is replaced or removed', async () => {
    const { storage, tasks, put } = await openTasks();
    await put('a', { owner: 'ada', dueMs: 1, done: false });
    await put('a', { owner: 'bob', dueMs: 2, done: true });
    expect(keys(tasks.by('byOwner', { prefix: 'ada' }))).toEqual([]);
    expect(keys(tasks.by('byOwner', { prefix: 'bob' }))).toEqual(['a']);
    expect(keys(tasks.by('open'))).toEqual([]);
    await storage.write('committed', (tx) => tx.remove(tasks, 'a'));
    expect(keys(tasks.by('byOwner'))).toEqual([]);
  });
});
