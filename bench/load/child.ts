// Child: a part of the bench in a process of its own, asked over IPC. It ends with the process that started it, however that
// one ends: the channel between them closes.

import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a child can be asked; requests and replies are plain data. */
export type Door = Readonly<Record<string, (request: never) => unknown>>;

export interface Child<D extends Door> {
  readonly pid: number;
  ask<Name extends keyof D & string>(
    name: Name,
    request: Parameters<D[Name]>[0],
  ): Promise<Awaited<ReturnType<D[Name]>>>;
  stop(): Promise<void>;
}

interface Question {
  readonly id: number;
  readonly name: string;
  readonly request: unknown;
}

interface Answer {
  readonly id: number;
  readonly reply?: unknown;
  readonly error?: string;
}

/** In the child. */
export function serve(door: Door): void {
  process.on('disconnect', () => process.exit());
  // Ctrl-C goes to all processes of the terminal; the one that started us decides.
  process.on('SIGINT', () => undefined);
  process.on('message', ({ id, name, request }: Question) => {
    const work = async (): Promise<unknown> => door[name]?.(request as never);
    work().then(
      (reply) => process.send?.({ id, reply } satisfies Answer),
      (error: Error) => process.send?.({ id, error: error.message } satisfies Answer),
    );
  });
}

/** In the parent. */
export function startChild<D extends Door>(module: URL): Child<D> {
  const child = fork(module, { execArgv: [] });
  const waiting = new Map<number, { resolve: (reply: never) => void; reject: (error: Error) => void }>();
  let idNext = 0;
  child.on('message', ({ id, reply, error }: Answer) => {
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(reply as never);
    else asked?.reject(new Error(error));
  });
  const exited = once(child, 'exit').then(() => {
    for (const { reject } of waiting.values()) reject(new Error(`${module.pathname} ended`));
  });
  return {
    pid: child.pid ?? 0,
    ask: (name, request) =>
      new Promise((resolve, reject) => {
        const id = idNext;
        idNext += 1;
        waiting.set(id, { resolve, reject });
        child.send({ id, name, request } satisfies Question);
      }),
    async stop() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
