// The service as a process of its own, as `npm start` runs it: for starts that fail, for signals, and for kill -9.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type ChatOptions, type ServiceClient, serviceClient } from './troupe.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const READY = /^Troupe \S+ is ready at (http:\S+)/m;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ServiceProcess extends ServiceClient, AsyncDisposable {
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
}

export interface ServiceProcessOptions {
  readonly dataDir: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** Part of every turn. */
  readonly defaults?: ChatOptions;
}

/** Does not wait until it is ready: see `ready`. What is left of it is killed when it is disposed of. */
export function spawnService({ dataDir, environment, defaults }: ServiceProcessOptions): ServiceProcess {
  const child = spawn(process.execPath, [MAIN], {
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
    [Symbol.asyncDispose]: kill,
  };
}

export async function startService(options: ServiceProcessOptions): Promise<ServiceProcess> {
  const service = spawnService(options);
  await service.ready();
  return service;
}
