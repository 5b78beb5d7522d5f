// Store: the lock of the engine, one row. Flushed: vectors that are made again for days must not be mistaken for others.

import type { Storage } from '../../storage/contract.ts';
import { type EngineLock, UNLOCKED } from './engine-lock.ts';

const KEY = 'engine';

export interface EngineStore {
  read(): EngineLock;
  write(lock: EngineLock): Promise<void>;
}

export function openEngineStore(storage: Storage): EngineStore {
  const table = storage.table<EngineLock>({ name: 'embedding-engine' });
  return {
    read: () => table.get(KEY) ?? UNLOCKED,
    write: (lock) => storage.write('flushed', (tx) => tx.put(table, KEY, lock)),
  };
}
