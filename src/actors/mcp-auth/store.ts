// Store: the credentials of each server, one sealed row a name.
// T1 A seal belongs to the name of its server. What does not open, because of another key file, counts as not there.

import type { Sealer } from '../../std/sealing.ts';
import type { Storage, Transaction } from '../../storage/contract.ts';
import type { Credentials } from './credentials.ts';

export interface CredentialsStore {
  /** Null when there are none, or none that can be read. */
  load(server: string): Credentials | null;
  /** Resolves when it is flushed. */
  save(server: string, credentials: Credentials): Promise<void>;
  /** True when there was something. */
  remove(server: string): Promise<boolean>;
  rename(server: string, to: string): Promise<void>;
}

export function openCredentialsStore(
  storage: Storage,
  sealer: Sealer,
  onUnreadable: (server: string) => void,
): CredentialsStore {
  const table = storage.table<string>({ name: 'mcp-credentials' });

  const opened = (server: string, sealed: string | undefined): Credentials | null => {
    if (sealed === undefined) return null;
    const text = sealer.open(labelOf(server), sealed);
    if (text === undefined) onUnreadable(server);
    return text === undefined ? null : (JSON.parse(text) as Credentials);
  };
  const put = (tx: Transaction, server: string, credentials: Credentials): void =>
    tx.put(table, server, sealer.seal(labelOf(server), JSON.stringify(credentials)));

  return {
    load: (server) => opened(server, table.get(server)),
    save: (server, credentials) => storage.write('flushed', (tx) => put(tx, server, credentials)),
    remove: (server) => storage.write('flushed', (tx) => tx.remove(table, server)),
    rename: (server, to) =>
      storage.write('flushed', (tx) => {
        const credentials = opened(server, tx.get(table, server));
        tx.remove(table, server);
        if (credentials === null) tx.remove(table, to);
        else put(tx, to, credentials);
      }),
  };
}

function labelOf(server: string): string {
  return `mcp-credentials/${server}`;
}
