// Storage for tests: the real store in a temporary folder, and the threads and processes that share or fight over it.
// All of it ends with the test.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { onTestFinished } from 'vitest';
import type { Storage } from '../../src/storage/contract.ts';
import { openStorage } from '../../src/storage/storage.ts';
import type { ThreadOrder, ThreadReport } from './storage-thread.ts';

export interface TemporaryStorage {
  readonly directory: string;
  readonly storage: Storage;
  /** Closes and opens again, as a restart would. */
  reopen(): Promise<Storage>;
}

export async function temporaryFolder(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-storage-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export async function openTemporaryStorage(): Promise<TemporaryStorage> {
  const directory = await temporaryFolder();
  let storage = await openStorage({ directory, primary: true });
  onTestFinished(() => storage.close());
  return {
    directory,
    get storage() {
      return storage;
    },
    async reopen() {
      await storage.close();
      storage = await openStorage({ directory, primary: true });
      return storage;
    },
  };
}

export interface StorageThread {
  readonly worker: Worker;
  /** The thread's next report. */
  report(): Promise<ThreadReport>;
  /** Tells the thread what to do; answers its next report. */
  order(order: ThreadOrder): Promise<ThreadReport>;
  kill(): Promise<void>;
}

/** A thread of this process that has joined the store. */
export async function joinFromThread(directory: string): Promise<StorageThread> {
  const worker = new Worker(new URL('./storage-thread.ts', import.meta.url), { workerData: { directory } });
  onTestFinished(async () => {
    await worker.terminate();
  });
  const report = async (): Promise<ThreadReport> => {
    const [message] = (await once(worker, 'message')) as [ThreadReport];
    return message;
  };
  await report();
  return {
    worker,
    report,
    order(order) {
      const answer = report();
      worker.postMessage(order);
      return answer;
    },
    async kill() {
      await worker.terminate();
    },
  };
}

export interface StorageProcess {
  readonly process: ChildProcess;
  /** Lines of its standard output, in order, until it ends. */
  lines(): AsyncIterableIterator<string>;
  kill(): Promise<void>;
}

/** Another Node process that runs one of this folder's scripts. */
export function startProcess(script: string, ...parameters: readonly string[]): StorageProcess {
  const path = fileURLToPath(new URL(`./${script}`, import.meta.url));
  return processOf(spawn(process.execPath, [path, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] }));
}

export function processOf(started: ChildProcess): StorageProcess {
  const exited = once(started, 'exit');
  const kill = async (): Promise<void> => {
    started.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  const reader = createInterface({ input: started.stdout as NonNullable<ChildProcess['stdout']> });
  return { process: started, lines: () => reader[Symbol.asyncIterator](), kill };
}
