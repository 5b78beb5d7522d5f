// Migrations: the steps from one version of the stored data to the next, in order, each in one commit with its number.
// G1 A migration that ran is never changed: the next one mends it.
// G2 A crash leaves the data at the version before or after a migration, never in between.

import type { Storage, Table, Transaction } from './contract.ts';

/** What a migration declares its tables and full texts with, as they are before or after it. */
export type Declarations = Pick<Storage, 'table' | 'fullText'>;

export interface Migration {
  readonly version: number;
  readonly summary: string;
  readonly migrate: (tx: Transaction, declarations: Declarations) => void;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, summary: 'tables, journals and full texts, all of them empty', migrate() {} },
];

const VERSION_KEY = 'version';

export function latestVersionOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** 0 in a store that was just created. */
export function storedVersion(storage: Storage): number {
  return versionTable(storage).get(VERSION_KEY) ?? 0;
}

export async function migrate(storage: Storage, migrations: readonly Migration[]): Promise<void> {
  for (const migration of migrations) {
    if (migration.version <= storedVersion(storage)) continue;
    await storage.write('flushed', (tx) => {
      migration.migrate(tx, storage);
      tx.put(versionTable(storage), VERSION_KEY, migration.version);
    });
  }
}

function versionTable(storage: Storage): Table<number> {
  return storage.table<number>({ name: 'storage' });
}
