// Probe: an actor that keeps what it gets, and lets a test await it.
// It lives on the main thread; actors anywhere reach it by its address, which is plain data.

import { present } from '../../std/assert.ts';
import { type ActorContext, actor } from '../actor.ts';
import { type Address, type Protocol, protocol, type Ref, tell } from '../protocol.ts';
import type { ActorSystem } from '../system.ts';

export const probeProtocol = protocol('probe', { note: tell<unknown>() });

export class Probe {
  /** All that it got, in order. */
  readonly received: unknown[] = [];
  readonly ref: Ref<typeof probeProtocol>;
  readonly #context: ActorContext;
  #read = 0;
  #wake: (() => void) | null = null;

  constructor(system: ActorSystem, id: string) {
    let started = null as ActorContext | null;
    const behaviour = actor({
      module: import.meta.url,
      exportName: '(closes over the test that opened it, and never leaves its thread)',
      protocol: probeProtocol,
      setup: (context) => {
        started = context;
        return { note: (message) => this.#take(message) };
      },
    });
    this.ref = system.spawn(behaviour, undefined, { id, restart: 'temporary' });
    this.#context = present(started, 'the context of a probe, which starts at once,');
  }

  get address(): Address {
    return this.#context.address;
  }

  /** Notes the end of that actor, as a `Terminated`. Returns an unwatch. */
  watch(target: Ref<Protocol> | Address): () => void {
    return this.#context.watch(target, (terminated) => this.#take(terminated));
  }

  /** The first one that `next` has not given yet; waits for it. */
  async next(): Promise<unknown> {
    while (this.#read >= this.received.length) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#read += 1;
    return this.received[this.#read - 1];
  }

  /** The next `count`. */
  async take(count: number): Promise<unknown[]> {
    const taken: unknown[] = [];
    while (taken.length < count) taken.push(await this.next());
    return taken;
  }

  #take(message: unknown): void {
    this.received.push(message);
    this.#wake?.();
    this.#wake = null;
  }
}

export function openProbe(system: ActorSystem, id = 'probe'): Probe {
  return new Probe(system, id);
}
