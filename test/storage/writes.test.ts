import { describe, expect, test } from 'vitest';
import { storageOfThisTest } from '../support/storage.ts';

interface Account {
  readonly owner: string;
  readonly balance: number;
}

const ACCOUNT_INDEXES = { byBalance: (account: Account) => account.balance };

async function openAccounts() {
  const temporary = await storageOfThisTest();
  const { storage } = temporary;
  const accounts = storage.table<Account, typeof ACCOUNT_INDEXES>({
    name: 'accounts',
    indexes: ACCOUNT_INDEXES,
  });
  const texts = storage.fullText('texts');
  await storage.write('committed', (tx) => {
    tx.put(accounts, 'a', { owner: 'ada', balance: 100 });
    tx.put(accounts, 'b', { owner: 'bob', balance: 50 });
  });
  return { ...temporary, storage, accounts, texts };
}

describe('a write', () => {
  test('answers what its callback returned', async () => {
    const { storage, accounts } = await openAccounts();
    expect(await storage.write('flushed', (tx) => tx.get(accounts, 'a')?.balance)).toBe(100);
  });

  test('sees its own changes, in gets, scans and indexes', async () => {
    const { storage, accounts } = await openAccounts();
    const seen = await storage.write('committed', (tx) => {
      tx.put(accounts, 'c', { owner: 'cy', balance: 75 });
      tx.put(accounts, 'a', { owner: 'ada', balance: 10 });
      tx.remove(accounts, 'b');
      return {
        owner: tx.get(accounts, 'c')?.owner,
        removed: tx.get(accounts, 'b'),
        keys: Array.from(tx.range(accounts), ({ key }) => key),
        backwards: Array.from(tx.range(accounts, { reverse: true }), ({ key }) => key),
        byBalance: Array.from(tx.by(accounts, 'byBalance'), ({ key }) => key),
      };
    });
    expect(seen).toEqual({
      owner: 'cy',
      removed: undefined,
      keys: ['a', 'c'],
      backwards: ['c', 'a'],
      byBalance: ['a', 'c'],
    });
  });

  test.each([false, true])(
    'scans many rows while it removes, replaces and adds some (reverse: %s)',
    async (reverse) => {
      const { storage, accounts } = await openAccounts();
      await storage.write('committed', (tx) => {
        for (let key = 0; key < 1_500; key += 1) tx.put(accounts, key, { owner: 'many', balance: key });
      });
      const seen = await storage.write('committed', (tx) => {
        tx.put(accounts, 700.5, { owner: 'added', balance: 0 });
        tx.remove(accounts, 701);
        const keys: unknown[] = [];
        for (const { key, value } of tx.range(accounts, {
          reverse,
          start: reverse ? Infinity : 0,
          end: reverse ? -1 : Infinity,
        })) {
          keys.push(key);
          if (typeof key === 'number' && key % 2 === 0) tx.remove(accounts, key);
          else tx.put(accounts, key, { ...value, balance: -1 });
        }
        return keys;
      });
      const expected = Array.from({ length: 1_500 }, (_, key) => key).filter((key) => key !== 701);
      expected.splice(701, 0, 700.5);
      expect(seen).toEqual(reverse ? expected.reverse() : expected);
      expect(accounts.count()).toBe(2 + 750);
      expect([...accounts.by('byBalance', { prefix: -1 })]).toHaveLength(750);
    },
  );

  test('keeps what was put as it was then, whatever happens to the object later', async () => {
    const { storage, accounts } = await openAccounts();
    const account = { owner: 'cy', balance: 1 };
    const write = storage.write('committed', (tx) => {
      tx.put(accounts, 'c', account);
      account.balance = 2;
      return tx.get(accounts, 'c')?.balance;
    });
    expect(await write).toBe(1);
    expect(accounts.get('c')?.balance).toBe(1);
  });

  test('changes nothing when its callback throws, and hands the error on', async () => {
    const { storage, accounts, texts } = await openAccounts();
    const failure = new Error('changed my mind');
    const write = storage.write('committed', (tx) => {
      tx.put(accounts, 'a', { owner: 'ada', balance: 0 });
      tx.put(accounts, 'c', { owner: 'cy', balance: 0 });
      tx.remove(accounts, 'b');
      tx.indexText(texts, { id: 'a', text: 'gone' });
      throw failure;
    });
    await expect(write).rejects.toBe(failure);
    expect(accounts.get('a')?.balance).toBe(100);
    expect(Array.from(accounts.by('byBalance'), ({ key }) => key)).toEqual(['b', 'a']);
    expect(accounts.count()).toBe(2);
    expect(texts.documentCount()).toBe(0);
  });

  test('that throws leaves those that share its commit alone', async () => {
    const { storage, accounts } = await openAccounts();
    const put = (key: string, balance: number) =>
      storage.write('committed', (tx) => {
        tx.put(accounts, key, { owner: key, balance });
        if (balance < 0) throw new Error('overdrawn');
      });
    const outcomes = await Promise.allSettled([put('x', 1), put('y', -1), put('x', 2), put('z', -1)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    expect(accounts.get('x')?.balance).toBe(2);
    expect(accounts.count()).toBe(3);
    expect(Array.from(accounts.by('byBalance'), ({ key }) => key)).toEqual(['x', 'b', 'a']);
  });

  test('does not await: a promise from its callback is refused and nothing is changed', async () => {
    const { storage, accounts } = await openAccounts();
    const write = storage.write('committed', async (tx) => tx.remove(accounts, 'a'));
    await expect(write).rejects.toThrow('must not await');
    expect(accounts.has('a')).toBe(true);
  });

  test('ends with its callback: its transaction is of no use later', async () => {
    const { storage, accounts } = await openAccounts();
    const tx = await storage.write('committed', (inside) => ({ inside }));
    expect(() => tx.inside.get(accounts, 'a')).toThrow('only while its change is decided');
  });

  test('is visible to readers when it resolves, and not before it is committed', async () => {
    const { storage, accounts } = await openAccounts();
    const write = storage.write('committed', (tx) => tx.put(accounts, 'a', { owner: 'ada', balance: 1 }));
    expect(accounts.get('a')?.balance).toBe(100);
    await write;
    expect(accounts.get('a')?.balance).toBe(1);
  });

  test.each(['committed', 'flushed'] as const)('of class %s is there after a restart', async (durability) => {
    const { storage, accounts, reopen } = await openAccounts();
    await storage.write(durability, (tx) => tx.put(accounts, 'd', { owner: 'di', balance: 4 }));
    await storage.flushed();
    const again = (await reopen()).table<Account>({ name: 'accounts' });
    expect(again.get('d')?.owner).toBe('di');
  });

  test('that was accepted is not lost by closing', async () => {
    const { storage, accounts, reopen } = await openAccounts();
    const writes = Array.from({ length: 50 }, (_, index) =>
      storage.write('committed', (tx) => tx.put(accounts, index, { owner: 'many', balance: index })),
    );
    const again = await reopen();
    await Promise.all(writes);
    expect(again.table<Account>({ name: 'accounts' }).count()).toBe(52);
    expect(() => storage.write('committed', () => {})).toThrow('closed');
  });
});

test('writers at once each find what the one before left', async () => {
  const { storage } = await storageOfThisTest();
  const counters = storage.table<number>({ name: 'counters' });
  await Promise.all(
    Array.from({ length: 1_000 }, (_, writer) =>
      storage.write(writer % 2 === 0 ? 'committed' : 'flushed', (tx) => {
        tx.put(counters, 'all', (tx.get(counters, 'all') ?? 0) + 1);
      }),
    ),
  );
  expect(counters.get('all')).toBe(1_000);
});

test('the statistics tell the size of the store', async () => {
  const { storage } = await storageOfThisTest();
  const table = storage.table<string>({ name: 'rows' });
  const before = storage.statistics().bytesOnDisk;
  await storage.write('flushed', (tx) => tx.put(table, 'big', 'x'.repeat(1_000_000)));
  expect(storage.statistics().bytesOnDisk - before).toBeGreaterThan(900_000);
});
