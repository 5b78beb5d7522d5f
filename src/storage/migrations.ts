// Migrations: the steps from one version of the stored data to the next, in order, each in one commit with its number.
// G1 A migration that ran is never changed: the next one mends it.
// G2 A crash leaves the data at the version before or after a migration, never in between.

import type { CommitQueue } from './commit-queue.ts';
import type { Transaction } from './contract.ts';
import { committedView } from './draft.ts';
import type { Environment } from './environment.ts';
import { StoredTable } from './table.ts';
import { decideIn } from './transaction.ts';

export interface Migration {
  readonly version: number;
  readonly summary: string;
  readonly migrate: (tx: Transaction) => void;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, summary: 'tables, journals and full texts, all of them empty', migrate() {} },
];

const VERSION_KEY = 'version';

export function latestVersionOf(migrations: readonly Migration[]): number {
  return migrations.at(-1)?.version ?? 0;
}

/** 0 in a store that was just created. */
export function storedVersion(environment: Environment): number {
  return versionTable(environment).get(VERSION_KEY) ?? 0;
}

export async function migrate(
  environment: Environment,
  queue: CommitQueue,
  migrations: readonly Migration[],
): Promise<void> {
  const versions = versionTable(environment);
  for (const migration of migrations) {
    if (migration.version <= storedVersion(environment)) continue;
    await queue.write('flushed', (draft) =>
      decideIn(draft, (tx) => {
        migration.migrate(tx);
        tx.put(versions, VERSION_KEY, migration.version);
      }),
    );
  }
}

function versionTable(environment: Environment): StoredTable<number> {
  return new StoredTable<number>({ name: 'storage' }, committedView(environment));
}
