// Migrations: the steps from one version of the stored data to the next, in order, each in one commit with its number.
// G1 A migration that ran is never changed: the next one mends it.
// G2 A crash leaves the data at the version before or after a migration, never in between.

import type { Key, Storage, Table, Transaction } from './contract.ts';

/** What a migration declares its tables and full texts with, as they are before or after it. */
export type Declarations = Pick<Storage, 'table' | 'fullText'>;

export interface Migration {
  readonly version: number;
  readonly summary: string;
  readonly migrate: (tx: Transaction, declarations: Declarations) => void;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, summary: 'tables, journals and full texts, all of them empty', migrate() {} },
  {
    version: 2,
    summary: 'a run says what it was accepted for, and how often it was resumed',
    migrate: runOrigins,
  },
  {
    version: 3,
    summary: 'journals begin in a log; records of before are spans, and stay as they are',
    migrate() {},
  },
  {
    version: 4,
    summary: 'documents that wait to be read are found by their workspace too',
    migrate: pendingByWorkspace,
  },
];

/** Runs are kept for two hours, so that one commit can hold them all. */
function runOrigins(tx: Transaction, declarations: Declarations): void {
  type Before = { readonly isDetached: boolean; readonly user_id: string; readonly createdAtMs: number };
  type After = Omit<Before, 'isDetached'> & { readonly origin: 'stream' | 'chat'; readonly resumes: number };
  const isListed = (run: Before | After): boolean =>
    'isDetached' in run ? run.isDetached : run.origin === 'stream';
  const records = declarations.table<
    Before | After,
    { byUser: (run: Before | After) => readonly [string, number] | null }
  >({
    name: 'runs',
    indexes: { byUser: (run) => (isListed(run) ? [run.user_id, run.createdAtMs] : null) },
  });
  for (const { key, value } of [...tx.range(records)]) {
    const { isDetached, ...run } = value as Before;
    tx.put(records, key, { ...run, origin: isDetached ? 'stream' : 'chat', resumes: 0 });
  }
}

/** All other documents, and the other indexes, stay as they are. */
function pendingByWorkspace(tx: Transaction, declarations: Declarations): void {
  interface Waiting {
    readonly status: string;
    readonly userId: string;
    readonly workspaceId: string;
    readonly pendingSinceMs: number;
  }
  const documents = declarations.table<
    Waiting,
    Record<'pending' | 'pending_by_workspace', (document: Waiting) => Key | null>
  >({
    name: 'documents',
    indexes: {
      pending: ({ status, pendingSinceMs }) => (status === 'pending' ? [pendingSinceMs] : null),
      pending_by_workspace: ({ status, userId, workspaceId, pendingSinceMs }) =>
        status === 'pending' ? [userId, workspaceId, pendingSinceMs] : null,
    },
  });
  for (const { key, value } of [...tx.by(documents, 'pending')]) {
    // Put over itself it would be taken to have all its entries.
    tx.remove(documents, key);
    tx.put(documents, key, value);
  }
}

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
