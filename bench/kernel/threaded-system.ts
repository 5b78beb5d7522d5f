// ThreadedSystem: an actor system with the measured actor on a worker thread.

import type { Ref } from '../../src/supervisor/protocol.ts';
import { type ActorSystem, createActorSystem } from '../../src/supervisor/system.ts';
import { counter, type counterProtocol } from './subjects.ts';

export interface ThreadedSystem {
  readonly system: ActorSystem;
  readonly ref: Ref<typeof counterProtocol>;
}

/** Resolves when the actor has answered for the first time. */
export async function openThreadedSystem(): Promise<ThreadedSystem> {
  const system = await createActorSystem({ threads: { spare: false } });
  const ref = system.spawn(counter, undefined, { id: 'counter', placement: { thread: 'bench' } });
  await ref.ask('taken', null);
  return { system, ref };
}
