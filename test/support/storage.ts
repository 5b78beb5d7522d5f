// Storage for tests: the real store in a temporary folder, and the threads and processes that share or fight over it.
// Threads, processes and what is `OfThisTest` end with the test.

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

export interface TemporaryFolder extends AsyncDisposable {
  readonly directory: string;
}

export interface TemporaryStorage extends TemporaryFolder {
  readonly storage: Storage;
  /** Closes and opens again, as a restart would. */
  reopen(): Promise<Storage>;
  close(): Promise<void>;
}

export async function temporaryFolder(): Promise<TemporaryFolder> {
  const directory = await mkdtemp(join(tmpdir(), 'troupe-test-'));
  return {
    directory,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}

/** Whoever opens it closes it; see `storageOfThisTest`. */
export async function openTemporaryStorage(): Promise<TemporaryStorage> {
  const folder = await temporaryFolder();
  const { directory } = folder;
  let storage = await openStorage({ directory, primary: true });
  const close = async (): Promise<void> => {
    await storage.close();
    await folder[Symbol.asyncDispose]();
  };
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
    close,
    [Symbol.asyncDispose]: close,
  };
}

export async function storageOfThisTest(): Promise<TemporaryStorage> {
  const temporary = await openTemporaryStorage();
  onTestFinished(() => temporary.close());
  return temporary;
}

export async function folderOfThisTest(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder.directory;
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

/** A process that opens a data folder, says so or why not, and holds it. */
export function startHolder(directory: string): StorageProcess {
  return startScript(new URL('./storage-holder-process.ts', import.meta.url), directory);
}

/** A process that appends to journals for good and prints what is acknowledged. */
export function startAppender(directory: string, journals: number): StorageProcess {
  return startScript(new URL('./storage-appender-process.ts', import.meta.url), directory, String(journals));
}

/** A process that files vectors for good, keeps snapshots of their index and prints how many are acknowledged. */
export function startVectorFiler(directory: string): StorageProcess {
  return startScript(new URL('./vector-filer-process.ts', import.meta.url), directory);
}

/** A process without the library of graphs: files vectors, and prints what its index says of itself. */
export function startWithoutHnswlib(directory: string): StorageProcess {
  return startScript(new URL('./without-hnswlib-process.ts', import.meta.url), directory);
}

function startScript(script: URL, ...parameters: readonly string[]): StorageProcess {
  const path = fileURLToPath(script);
  return processOf(spawn(process.execPath, [path, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] }));
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
