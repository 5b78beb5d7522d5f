// Remote: the actors of other threads as this thread sees them. Same on the main thread and on workers.
// F1 A watch on a lost thread fires once, with `thread_lost`; an orphan whose parent's thread is lost is killed.
// F2 Names follow the main thread's registry: a worker reports its own, the main thread tells everybody.

import { errorText } from '../../std/errors.ts';
import type { Behaviour, TerminationReason } from '../actor.ts';
import type { ParentHandle } from '../cell.ts';
import type { ChildHandle, ChildSpec } from '../children.ts';
import type { Address, Protocol } from '../protocol.ts';
import type { Target } from '../ref.ts';
import type { OtherThreads, Runtime } from '../runtime.ts';
import type { Link } from './link.ts';
import type { SignalFrame, SpawnOrder } from './wire.ts';

export const MAIN_THREAD = 0;

interface Watch {
  readonly thread: number;
  readonly onTerminated: (reason: TerminationReason) => void;
}

interface RemoteChild {
  readonly thread: number;
  readonly parent: ParentHandle;
}

export class Remote implements OtherThreads {
  readonly #runtime: Runtime;
  readonly #links = new Map<number, Link>();
  readonly #lost = new Map<number, string>();
  readonly #threadFor: (name: string) => number;
  #watchNext = 1;
  /** Ours on actors elsewhere. */
  readonly #watches = new Map<number, Watch>();
  /** Theirs on actors here: a way to take each back, by thread and number. */
  readonly #watched = new Map<string, () => void>();
  readonly #children = new Map<number, RemoteChild>();

  /** `threadFor` gives the number of the live thread with a placement's name, starting it if need be. */
  constructor(runtime: Runtime, threadFor: (name: string) => number) {
    this.#runtime = runtime;
    this.#threadFor = threadFor;
    runtime.others = this;
  }

  get links(): Iterable<Link> {
    return this.#links.values();
  }

  link(thread: number): Link | undefined {
    return this.#links.get(thread);
  }

  join(link: Link): void {
    this.#links.set(link.thread, link);
  }

  target(address: Address): Target {
    return {
      path: address.path,
      address,
      post: (envelope) => {
        const link = this.#links.get(address.thread);
        if (link !== undefined) return link.post(address, envelope);
        this.#runtime.counters.sent += 1;
        this.#runtime.refuse(address.path, envelope, 'thread_lost');
        return false;
      },
    };
  }

  launch(spec: ChildSpec, threadName: string, actor: number, path: string, parent: ParentHandle): ChildHandle {
    const thread = this.#threadFor(threadName);
    const { module, exportName } = spec.behaviour as Behaviour<Protocol, unknown>;
    // The child is no longer placed: where it arrives is where it lives.
    const { placement: _placement, ...options } = spec.options;
    const order: SpawnOrder = { actor, path, module, exportName, args: spec.args, options };
    this.#children.set(actor, { thread, parent });
    this.#signal(thread, { kind: 'spawn', order });
    return {
      actor,
      thread,
      stop: () => this.#signal(thread, { kind: 'stop', actor }),
      kill: () => this.#signal(thread, { kind: 'kill', actor }),
    };
  }

  watch(address: Address, onTerminated: (reason: TerminationReason) => void): () => void {
    const link = this.#links.get(address.thread);
    if (link === undefined) {
      onTerminated({ kind: 'thread_lost', message: this.#lost.get(address.thread) ?? 'its thread is gone' });
      return () => undefined;
    }
    const watch = this.#watchNext;
    this.#watchNext += 1;
    this.#watches.set(watch, { thread: address.thread, onTerminated });
    link.signal({ kind: 'watch', watch, actor: address.actor });
    return () => {
      if (this.#watches.delete(watch)) this.#signal(address.thread, { kind: 'unwatch', watch });
    };
  }

  nameTaken(name: string, address: Address): void {
    this.#announce({ kind: 'name_taken', name, address });
  }

  nameFreed(name: string, address: Address): void {
    this.#announce({ kind: 'name_freed', name, address });
  }

  /** F1. Called once the thread is known to be gone; main is told by the worker's exit, workers by main. */
  threadLost(thread: number, message: string): void {
    if (this.#lost.has(thread)) return;
    this.#lost.set(thread, message);
    const reason: TerminationReason = { kind: 'thread_lost', message };
    this.#runtime.registry.forgetThread(thread);
    this.#links.get(thread)?.lose(message);
    this.#links.delete(thread);
    for (const [watch, { thread: watched, onTerminated }] of [...this.#watches]) {
      if (watched === thread && this.#watches.delete(watch)) onTerminated(reason);
    }
    for (const [actor, { thread: home, parent }] of [...this.#children]) {
      if (home === thread && this.#children.delete(actor)) parent.childEnded(actor, reason);
    }
    for (const key of [...this.#watched.keys()]) {
      if (key.startsWith(`${thread}:`)) this.#unwatch(key);
    }
    for (const cell of [...this.#runtime.cells.values()]) {
      if (cell.parent.thread === thread) cell.kill();
    }
  }

  /** Handles what concerns actors; answers false for what is the thread's own business. */
  onSignal(frame: SignalFrame, link: Link): boolean {
    switch (frame.kind) {
      case 'spawn':
        this.#spawn(frame.order, link);
        return true;
      case 'stop':
        this.#runtime.cells.get(frame.actor)?.stop();
        return true;
      case 'kill':
        this.#runtime.cells.get(frame.actor)?.kill();
        return true;
      case 'child_started':
        this.#children.get(frame.actor)?.parent.childStarted(frame.actor);
        return true;
      case 'child_ended': {
        const child = this.#children.get(frame.actor);
        this.#children.delete(frame.actor);
        child?.parent.childEnded(frame.actor, frame.reason);
        return true;
      }
      case 'watch':
        this.#watchHere(frame.watch, frame.actor, link);
        return true;
      case 'unwatch':
        this.#unwatch(`${link.thread}:${frame.watch}`);
        return true;
      case 'terminated': {
        const watch = this.#watches.get(frame.watch);
        this.#watches.delete(frame.watch);
        watch?.onTerminated(frame.reason);
        return true;
      }
      case 'name_taken':
        this.#runtime.registry.follow(frame.name, frame.address);
        this.#passOn(frame, link);
        return true;
      case 'name_freed':
        this.#runtime.registry.unregister(frame.name, frame.address.actor);
        this.#passOn(frame, link);
        return true;
      default:
        return false;
    }
  }

  #spawn(order: SpawnOrder, link: Link): void {
    const { actor, path, module, exportName, args, options } = order;
    const parent: ParentHandle = {
      thread: link.thread,
      childStarted: () => link.signal({ kind: 'child_started', actor }),
      childEnded: (_actor, reason) => link.signal({ kind: 'child_ended', actor, reason }),
    };
    // The cell is there at once, so that mail right behind this order finds it; its module may take a moment to load.
    this.#runtime.startLoadedCell(loadBehaviour(module, exportName), args, options, actor, path, parent);
  }

  #watchHere(watch: number, actor: number, link: Link): void {
    const key = `${link.thread}:${watch}`;
    const report = (reason: TerminationReason): void => {
      this.#watched.delete(key);
      link.signal({ kind: 'terminated', watch, reason });
    };
    const cell = this.#runtime.cells.get(actor);
    if (cell === undefined) report({ kind: 'unknown_actor' });
    else this.#watched.set(key, cell.addWatcher(report));
  }

  #unwatch(key: string): void {
    this.#watched.get(key)?.();
    this.#watched.delete(key);
  }

  #announce(frame: SignalFrame): void {
    if (this.#runtime.thread === MAIN_THREAD) for (const link of this.#links.values()) link.signal(frame);
    else this.#signal(MAIN_THREAD, frame);
  }

  #passOn(frame: SignalFrame, from: Link): void {
    if (this.#runtime.thread !== MAIN_THREAD) return;
    for (const link of this.#links.values()) if (link !== from) link.signal(frame);
  }

  #signal(thread: number, frame: SignalFrame): void {
    this.#links.get(thread)?.signal(frame);
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a module exports is known by its name only.
async function loadBehaviour(module: string, exportName: string): Promise<Behaviour<any, any>> {
  try {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const exports: Record<string, any> = await import(module);
    if (typeof exports[exportName]?.setup !== 'function') throw new Error(`it has no behaviour ${exportName}`);
    return exports[exportName];
  } catch (error) {
    throw new Error(`cannot load ${exportName} of ${module}: ${errorText(error)}`);
  }
}
