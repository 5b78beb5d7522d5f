// The provider double in a process of its own: for load, where its work must not count as ours, and for crash tests, where
// it must outlive us (it ends with the process that started it). Its script is plain data.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { DeclarativeScript, ModelsScript } from './provider-double-script.ts';

export interface ProviderDoubleProcess {
  readonly baseUrl: string;
  readonly port: number;
  readonly pid: number;
  /** Completions asked for so far, responses still open, and processor time used. */
  stats(): Promise<DoubleStats>;
  stop(): Promise<void>;
}

export interface DoubleStats {
  readonly requestCount: number;
  readonly openCount: number;
  readonly cpuMs: number;
}

/** What the child is told on its command line. */
export interface ChildOptions {
  readonly script: DeclarativeScript;
  readonly models?: ModelsScript;
  readonly port?: number;
}

/** What the child says: once when it listens, then to each `stats`. */
export type ChildMessage =
  | { readonly kind: 'listening'; readonly baseUrl: string; readonly port: number }
  | ({ readonly kind: 'stats' } & DoubleStats);

export async function startProviderDoubleProcess(options: ChildOptions): Promise<ProviderDoubleProcess> {
  const child = fork(
    fileURLToPath(new URL('./provider-double-child.ts', import.meta.url)),
    [JSON.stringify(options)],
    {
      // A test runner's own flags are not for the child.
      execArgv: [],
    },
  );
  const ended = once(child, 'exit');
  const hear = async <Kind extends ChildMessage['kind']>(
    kind: Kind,
  ): Promise<ChildMessage & { kind: Kind }> => {
    const gone = ended.then(() => {
      throw new Error('the provider double ended');
    });
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [ChildMessage];
    if (message.kind !== kind) throw new Error(`the provider double said ${message.kind} instead of ${kind}`);
    return message as ChildMessage & { kind: Kind };
  };
  const { baseUrl, port } = await hear('listening');
  return {
    baseUrl,
    port,
    pid: child.pid as number,
    async stats() {
      const answer = hear('stats');
      child.send('stats');
      return answer;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
