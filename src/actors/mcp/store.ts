// Store: the configured servers, one row each, sealed as a whole (protocol.ts, M1).
// W1 A row belongs to its name: under another one it does not open. W2 A row that does not open (another key file) is
//    reported by name and counts as not there; whoever adds that name replaces it.

import type { Sealer } from '../../std/sealing.ts';
import type { Storage, Table } from '../../storage/contract.ts';
import type { ServerConfig } from './protocol.ts';
import { readServerConfig } from './server-config.ts';

interface Row {
  /** The configuration as JSON. */
  readonly sealed: string;
}

export interface LoadedServers {
  readonly configs: ReadonlyMap<string, ServerConfig>;
  readonly unreadable: readonly string[];
}

export interface ServerStore {
  load(): LoadedServers;
  /** Resolves when it is flushed. `formerName` goes, in the same step. */
  put(name: string, config: ServerConfig, formerName?: string): Promise<void>;
  remove(name: string): Promise<void>;
}

export function serverStore(storage: Storage, sealer: Sealer): ServerStore {
  const table: Table<Row> = storage.table<Row>({ name: 'mcp_servers' });
  return {
    load() {
      const configs = new Map<string, ServerConfig>();
      const unreadable: string[] = [];
      for (const { key, value } of table.range()) {
        const name = String(key);
        const config = configOf(sealer.open(labelOf(name), value.sealed));
        if (config === null) unreadable.push(name);
        else configs.set(name, config);
      }
      return { configs, unreadable };
    },
    put: (name, config, formerName = name) =>
      storage.write('flushed', (tx) => {
        if (formerName !== name) tx.remove(table, formerName);
        tx.put(table, name, { sealed: sealer.seal(labelOf(name), JSON.stringify(config)) });
      }),
    remove: (name) => storage.write('flushed', (tx) => void tx.remove(table, name)),
  };
}

function labelOf(name: string): string {
  return `mcp-server:${name}`;
}

/** Read again as if a client had sent it: members that came later get their defaults. */
function configOf(text: string | undefined): ServerConfig | null {
  if (text === undefined) return null;
  const read = readServerConfig(JSON.parse(text));
  return read.ok ? read.config : null;
}
