// ThreadStarter: how the pool gets a thread, and the channels between threads. Workers in earnest (worker-starter.ts), and
// threads that share one process and one seed in a simulation (testkit/simulation.ts).

import type { Behaviour } from '../actor.ts';
import type { Address } from '../protocol.ts';
import type { ThreadBootstrap } from './bootstrap.ts';
import type { Batch, Port } from './wire.ts';

/** What a thread is born with. */
export interface ThreadSeed {
  readonly thread: number;
  /** Its old-generation heap limit. */
  readonly heapMaxMb: number;
  /** Its end of the channel to the main thread. */
  readonly port: Port;
  readonly bootstrap: ThreadBootstrap;
  readonly names: readonly (readonly [string, Address])[];
}

/** What a thread's owner is told of it. */
export interface ThreadHooks {
  /** It ends on an error; `exited` follows. */
  failed(message: string): void;
  exited(code: number): void;
}

export interface StartedThread {
  /** Ends it without asking; `exited` is told when it has. */
  terminate(): void;
}

/** Finds a behaviour that came by name with an order from another thread. */
// biome-ignore lint/suspicious/noExplicitAny: what a module exports is known by its name only.
export type BehaviourLoader = (module: string, exportName: string) => Promise<Behaviour<any, any>>;

export interface ThreadStarter {
  channel(): readonly [Port, Port];
  start(seed: ThreadSeed, hooks: ThreadHooks): StartedThread;
  /** Takes a batch that has arrived and was not listened to yet. */
  receive(port: Port): Batch | undefined;
  readonly loadBehaviour: BehaviourLoader;
}
