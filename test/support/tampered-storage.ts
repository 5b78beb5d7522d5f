// A real storage whose writes a test may fail or hold up, and whose reads it may fail.

import type { Journals, Storage } from '../../src/storage/contract.ts';
import { storageFaults } from '../../src/storage/faults.ts';

/** A storage in which a test may fail or hold up what is written, and fail what is read. */
export function tampered(before: {
  /** A write of tables. */
  readonly write?: () => Promise<void>;
  /** A write that was committed, and is answered now; gets the names of the tables that it changed. */
  readonly written?: (tables: ReadonlySet<string>) => Promise<void>;
  /** A put in a write; gets the table's name. */
  readonly put?: (table: string) => void;
  /** A read of a table outside a write; gets the table's name. */
  readonly read?: (table: string) => void;
  /** A read of a journal, by whoever wants to know what is in it; gets its id. */
  readonly readJournal?: (journal: string) => void;
  /** An append to journals; gets the entries. */
  readonly append?: (entries: readonly unknown[]) => Promise<void>;
}): (storage: Storage) => Storage {
  return (storage) =>
    overriding(storage, {
      table: (declaration) => {
        const table = storage.table(declaration);
        return overriding(table, {
          get: (key) => {
            before.read?.(table.name);
            return table.get(key);
          },
          range: (options) => {
            before.read?.(table.name);
            return table.range(options);
          },
        });
      },
      write: async (durability, change) => {
        await before.write?.();
        const tables = new Set<string>();
        const result = await storage.write(durability, (tx) =>
          change(
            overriding(tx, {
              put: (table, key, value) => {
                before.put?.(table.name);
                tables.add(table.name);
                tx.put(table, key, value);
              },
              remove: (table, key) => {
                tables.add(table.name);
                return tx.remove(table, key);
              },
            }),
          ),
        );
        await before.written?.(tables);
        return result;
      },
      journals: <Value>(name: string): Journals<Value> => {
        const journals = storage.journals<Value>(name);
        return overriding(journals, {
          read: (journal, afterSeq, limits) => {
            before.readJournal?.(journal);
            return journals.read(journal, afterSeq, limits);
          },
          lastSeq: (journal) => {
            before.readJournal?.(journal);
            return journals.lastSeq(journal);
          },
          seal: async (journal) => {
            before.readJournal?.(journal);
            await journals.seal(journal);
          },
          expire: async (journal) => {
            before.readJournal?.(journal);
            await journals.expire(journal);
          },
          append: async (journal, firstSeq, values, durability) => {
            await before.append?.(values);
            await journals.append(journal, firstSeq, values, durability);
          },
          appendAll: async (appends, durability) => {
            await before.append?.(appends.flatMap(({ values }) => values));
            await journals.appendAll(appends, durability);
          },
        });
      },
    });
}

export interface FillableDisk {
  /** As long as a test says so. */
  isFull: boolean;
  /** How often it was too full. */
  refusals: number;
  readonly storage: (storage: Storage) => Storage;
}

/** A disk that has no room for writes of tables, for appends to journals, or for rows of one table. */
export function fillableDisk(full: 'write' | 'append' | { readonly table: string }): FillableDisk {
  const refuse = (): void => {
    if (!disk.isFull) return;
    disk.refusals += 1;
    throw storageFaults.storage_full('the disk is full');
  };
  const disk: FillableDisk = {
    isFull: false,
    refusals: 0,
    storage: tampered({
      write: async () => {
        if (full === 'write') refuse();
      },
      append: async () => {
        if (full === 'append') refuse();
      },
      put: (table) => {
        if (typeof full === 'object' && full.table === table) refuse();
      },
    }),
  };
  return disk;
}

/** A disk that takes the commits of a table, and fails to flush as many of them from now on. */
export function unflushableDisk(table: string) {
  const disk = {
    failures: 0,
    storage: tampered({
      async written(tables) {
        if (disk.failures === 0 || !tables.has(table)) return;
        disk.failures -= 1;
        throw storageFaults.storage_full('no room to flush');
      },
    }),
  };
  return disk;
}

/** The object with some of its methods replaced. It may be of a class with private members. */
function overriding<T extends object>(object: T, methods: Partial<T>): T {
  return new Proxy(object, {
    get(_, name) {
      const member = Reflect.get(Object.hasOwn(methods, name) ? methods : object, name);
      return typeof member === 'function' ? member.bind(object) : member;
    },
  });
}
