// The service as a process of its own, as `npm start` runs it: for starts that fail, for signals, and for kill -9.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ChatOptions, type ServiceClient, serviceClient } from './troupe.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const READY = /^Troupe \S+ is ready at (http:\S+)/m;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServiceProcess extends ServiceClient, AsyncDisposable {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when it answers. @throws when it ended instead, with what it said */
  ready(): Promise<void>;
  /** Resolves when its standard output has such a text. */
  said(pattern: RegExp): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** Leaves next to no room on its disk: only for one that has a disk of its own. */
  fillDisk(): Promise<void>;
  /** Gives back the room that `fillDisk` took. */
  freeDisk(): Promise<void>;
}

export interface ServiceProcessOptions {
  readonly dataDir: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Part of every turn. */
  readonly defaults?: ChatOptions;
  /** Mounts a disk of that size at the data folder, for this process alone and as long as it lives (see `canMountDisk`). */
  readonly diskMegabytes?: number;
}

// A disk of its own takes the right to mount one, in a namespace of the process's own.
const ISOLATE = 'unshare';
const ISOLATED = ['-rm', 'sh', '-c'] as const;

export function canMountDisk(): boolean {
  const mount = 'mount -t tmpfs -o size=1m tmpfs /mnt';
  return spawnSync(ISOLATE, [...ISOLATED, mount]).status === 0;
}

/** Does not wait until it is ready: see `ready`. What is left of it is killed when it is disposed of. */
export function spawnService({
  dataDir,
  environment,
  defaults,
  diskMegabytes,
}: ServiceProcessOptions): ServiceProcess {
  const mount = `mount -t tmpfs -o size=${diskMegabytes}m tmpfs "$0" && exec "$@"`;
  const [command, ...parameters] =
    diskMegabytes === undefined
      ? [process.execPath, MAIN]
      : [ISOLATE, ...ISOLATED, mount, dataDir, process.execPath, MAIN];
  const child = spawn(command as string, parameters, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, SVC_PORT: '0', SVC_LOG_LEVEL: 'error', SVC_DATA_DIR: dataDir, ...environment },
  });
  const exited = once(child, 'close').then(([code, signal]): Exit => ({ code, signal }));
  let stdout = '';
  let stderr = '';
  let url = '';
  const becameReady = Promise.withResolvers<void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    url ||= READY.exec(stdout)?.[1] ?? '';
    if (url !== '') becameReady.resolve();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  /** What its own disk looks like is seen through its eyes. */
  const ballast = (): string => {
    if (diskMegabytes === undefined) throw new Error('this service shares its disk with us');
    return `/proc/${child.pid}/root${dataDir}/ballast`;
  };
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  return {
    ...serviceClient(() => url, defaults),
    get url() {
      return url;
    },
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    pid: child.pid ?? 0,
    exited,
    async ready() {
      const ended = exited.then(({ code, signal }) => {
        throw new Error(`the service ended (${code ?? signal}): ${stderr}`);
      });
      await Promise.race([becameReady.promise, ended]);
    },
    async said(pattern) {
      while (!pattern.test(stdout)) await once(child.stdout, 'data');
    },
    signal: (signal) => void child.kill(signal),
    kill,
    fillDisk: () => fill(ballast()),
    freeDisk: () => rm(ballast()),
    [Symbol.asyncDispose]: kill,
  };
}

const LEFT_BYTES = 1024 * 1024;

/** Writes a file that takes all but a little of the room. */
async function fill(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path));
  await writeFile(path, Buffer.alloc(bavail * bsize - LEFT_BYTES));
}

export async function startService(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const service = spawnService(options);
  await service.ready();
  return service;
}
