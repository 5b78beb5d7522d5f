// Service: Troupe as a process of its own on a temporary folder, so that its time and memory are its own.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface BenchService {
  readonly url: URL;
  readonly pid: number;
  /** Resident memory in MB, from the kernel. */
  residentMb(): Promise<number>;
  /**
   * Of the edge thread's heap and all buffers, after a collection; needs `--expose-gc`. Resident memory moves by megabytes for
   * reasons of its own.
   */
  heldBytes(): Promise<number>;
  /** Processor time in seconds, user and system, all threads. */
  cpuSeconds(): Promise<number>;
  /** With SIGTERM when no signal is named. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const CLOCK_TICKS_PER_SECOND = 100;
/** As `npm start` sets it. */
const ALLOCATOR = { MALLOC_ARENA_MAX: '2' };

/**
 * `nodeOptions`, as `--cpu-prof`, are for whoever looks for the reason of a figure. `folder` is what the service starts on,
 * an empty one when absent; it is removed when the service stops.
 */
export async function startService(
  environment: Readonly<Record<string, string>>,
  nodeOptions: readonly string[] = [],
  folder?: string,
): Promise<BenchService> {
  const dataDir = folder ?? (await mkdtemp(join(tmpdir(), 'troupe-bench-')));
  const child = fork(new URL('./service-process.ts', import.meta.url), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [...nodeOptions],
    env: {
      ...ALLOCATOR,
      ...process.env,
      SVC_PORT: '0',
      SVC_DATA_DIR: dataDir,
      SVC_LOG_LEVEL: 'error',
      ...environment,
    },
  });
  const url = new URL(await readyUrl(child));
  return {
    url,
    pid: child.pid ?? 0,
    async residentMb() {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    },
    async heldBytes() {
      const answered = once(child, 'message');
      child.send('weigh');
      const [bytes] = await answered;
      return bytes as number;
    },
    cpuSeconds: () => cpuSecondsOf(child.pid ?? 0),
    async stop(signal = 'SIGTERM') {
      const exited = once(child, 'exit');
      child.kill(signal);
      await exited;
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Processor time of a process, from the kernel. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND;
}

async function readyUrl(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the service has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /ready at (http:\S+)/.exec(line)?.[1];
    if (url !== undefined) return url;
  }
  throw new Error('the service ended before it was ready');
}
