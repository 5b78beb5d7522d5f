// Remote: the actors of other threads as this thread sees them. Same on the main thread and on workers.
// F1 A watch on a lost thread fires once, with `thread_lost`; an orphan whose parent's thread is lost is killed.
// F2 Names follow the main thread's registry: a worker reports its own, the main thread tells everybody, or refuses a name
//    that another actor bears already.
// F3 The main thread introduces workers to each other. Mail for a worker that is not introduced yet waits in its link.

import type { Behaviour, Placement, TerminationReason } from '../actor.ts';
import type { ParentHandle } from '../cell.ts';
import type { ChildHandle, ChildSpec } from '../children.ts';
import type { LinkNotice } from '../links.ts';
import type { Address, Protocol } from '../protocol.ts';
import type { Target } from '../ref.ts';
import { MAIN_THREAD, nameOf, type OtherThreads, type Runtime } from '../runtime.ts';
import { Link } from './link.ts';
import { loadBehaviour } from './load-behaviour.ts';
import { PendingChild, UNPLACED } from './pending-child.ts';
import type { BehaviourLoader } from './thread-starter.ts';
import type { Batch, PoolPlacement, Port, SignalFrame, SpawnOrder } from './wire.ts';

/** Where the threads come from: the pool, on the main thread; a worker asks for them. */
export interface ThreadSource {
  /** The thread for a child, started if need be; null when it comes later, by `placed` or `not_placed`. */
  place(placement: PoolPlacement, actor: number, path: string): number | null;
  /** Nothing of what it was wanted for lives there: ends a dedicated thread. */
  giveBack(thread: number): void;
  /** Ends a thread on which no actor has started yet: a kill for one of its actors would never be read. */
  giveUpStarting(thread: number): void;
  /** Ends a thread that has sent what cannot be read. */
  condemn(thread: number): void;
}

interface Watch {
  readonly thread: number;
  readonly onTerminated: (reason: TerminationReason) => void;
}

interface RemoteChild {
  readonly id: string;
  readonly handle: RemoteHandle;
  readonly parent: ParentHandle;
}

interface RemoteHandle extends ChildHandle {
  isTerminated: boolean;
}

export class Remote implements OtherThreads {
  readonly #runtime: Runtime;
  readonly #source: ThreadSource;
  /** Handles the signals that are not about actors. */
  readonly #onThreadSignal: (frame: SignalFrame, link: Link) => void;
  readonly #loadBehaviour: BehaviourLoader;
  readonly #links = new Map<number, Link>();
  /** The highest number of a thread that we know of, alive or not. */
  #threadKnownMax: number;
  #watchNext = 1;
  /** Ours on actors elsewhere. */
  readonly #watches = new Map<number, Watch>();
  /** Theirs on actors here: a way to take each back, by thread and number. */
  readonly #watched = new Map<string, () => void>();
  readonly #children = new Map<number, RemoteChild>();
  /** Ours that wait for a place. */
  readonly #pending = new Map<number, PendingChild>();

  constructor(
    runtime: Runtime,
    source: ThreadSource,
    onThreadSignal: (frame: SignalFrame, link: Link) => void,
    load: BehaviourLoader = loadBehaviour,
  ) {
    this.#runtime = runtime;
    this.#source = source;
    this.#onThreadSignal = onThreadSignal;
    this.#loadBehaviour = load;
    this.#threadKnownMax = runtime.thread;
    runtime.others = this;
  }

  get heldLength(): number {
    let length = 0;
    for (const link of this.#links.values()) length += link.heldLength;
    return length;
  }

  /** Tells every other thread what has been settled here, so that its counters are nearly right if this thread is lost. */
  flush(): void {
    for (const link of this.#links.values()) link.flush();
  }

  /** Opens the link to another thread, or gives the one that waits for it (F3) its port. */
  join(thread: number, port: Port): Link {
    this.#threadKnownMax = Math.max(this.#threadKnownMax, thread);
    const waiting = this.#links.get(thread);
    if (waiting !== undefined) {
      waiting.connect(port);
      return waiting;
    }
    return this.#open(thread, port);
  }

  target(address: Address): Target {
    return {
      path: address.path,
      address,
      post: (envelope) => {
        const link = this.#linkTo(address.thread);
        if (link !== undefined) return link.post(address, envelope);
        this.#runtime.counters.sent += 1;
        this.#runtime.refuse(address.path, envelope, 'thread_lost');
        return false;
      },
    };
  }

  launch(
    spec: ChildSpec,
    placement: Placement,
    actor: number,
    path: string,
    parent: ParentHandle,
  ): ChildHandle {
    const launchOn = (thread: number): ChildHandle =>
      this.#launchOn(thread, spec, placement, actor, path, parent);
    if (placement === 'parent' || placement === 'edge') return launchOn(MAIN_THREAD);
    const thread = this.#source.place(placement, actor, path);
    if (thread !== null) return launchOn(thread);
    const pending = new PendingChild(this.#runtime, actor, path, {
      launch: launchOn,
      ended: (reason) => parent.childEnded(spec.options.id, actor, reason),
    });
    this.#pending.set(actor, pending);
    return pending;
  }

  #launchOn(
    thread: number,
    spec: ChildSpec,
    placement: Placement,
    actor: number,
    path: string,
    parent: ParentHandle,
  ): ChildHandle {
    if (thread === this.#runtime.thread) return this.#runtime.startCell(spec, actor, path, parent);
    const { module, exportName } = spec.behaviour as Behaviour<Protocol, unknown>;
    // The child is no longer placed: where it arrives is where it lives.
    const { placement: _placement, name: _name, ...rest } = spec.options;
    const name = nameOf(spec);
    const options = name === null ? rest : { ...rest, name };
    const isDedicated =
      placement === 'dedicated' || (typeof placement === 'object' && 'dedicated' in placement);
    const order: SpawnOrder = { actor, path, module, exportName, args: spec.args, options, isDedicated };
    const handle: RemoteHandle = {
      actor,
      thread,
      isTerminated: !this.#links.has(thread),
      stop: () => this.#signal(thread, { kind: 'stop', actor }),
      drain: () => this.#links.get(thread)?.drain(actor),
      kill: () => {
        this.#signal(thread, { kind: 'kill', actor });
        this.#source.giveUpStarting(thread);
      },
    };
    if (handle.isTerminated) {
      parent.childEnded(spec.options.id, actor, { kind: 'thread_lost', message: 'its thread is gone' });
    } else {
      this.#children.set(actor, { id: spec.options.id, handle, parent });
      this.#signal(thread, { kind: 'spawn', order });
    }
    return handle;
  }

  /** From now on nobody here sends it anything, though its parent comes to hear of its end in its own turn. */
  #takeChild(actor: number): RemoteChild | undefined {
    const child = this.#children.get(actor);
    if (child !== undefined) child.handle.isTerminated = true;
    this.#children.delete(actor);
    return child;
  }

  watch(address: Address, onTerminated: (reason: TerminationReason) => void): () => void {
    if (address.thread === UNPLACED) return this.#watchPending(address.actor, onTerminated);
    const link = this.#linkTo(address.thread);
    if (link === undefined) {
      onTerminated({ kind: 'thread_lost', message: 'its thread is gone' });
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

  #watchPending(actor: number, onTerminated: (reason: TerminationReason) => void): () => void {
    let unwatch: (() => void) | null = () => undefined;
    const pending = this.#pending.get(actor);
    if (pending === undefined) onTerminated({ kind: 'unknown_actor' });
    pending?.whenSettled(() => {
      if (unwatch === null) return;
      if (pending.ended !== null) onTerminated(pending.ended);
      else unwatch = this.#runtime.watch(pending.location, onTerminated);
    });
    return () => {
      unwatch?.();
      unwatch = null;
    };
  }

  #notifyPending(notice: LinkNotice): void {
    const pending = this.#pending.get(notice.actor);
    pending?.whenSettled(() => {
      const { ended, location } = pending;
      this.#runtime.links.placed(location);
      if (ended === null) {
        if (location.thread === this.#runtime.thread) this.#runtime.links.take(notice);
        else this.notify(location.thread, notice);
      } else if (notice.kind === 'link') {
        const { actor: from } = notice;
        this.#runtime.links.take({ kind: 'link_exit', actor: notice.from.actor, from, reason: ended });
      }
    });
  }

  notify(thread: number, notice: LinkNotice): boolean {
    if (thread === UNPLACED) {
      this.#notifyPending(notice);
      return true;
    }
    const link = this.#linkTo(thread);
    link?.signal(notice);
    return link !== undefined;
  }

  nameTaken(name: string, address: Address): void {
    this.#announce({ kind: 'name_taken', name, address });
  }

  nameFreed(name: string, address: Address): void {
    this.#announce({ kind: 'name_freed', name, address });
  }

  /** The news of a thread's end comes by another way than its last words, which may still be waiting here. */
  receiveLast(thread: number, receive: (port: Port) => Batch | undefined): void {
    this.#links.get(thread)?.receiveLast(receive);
  }

  /** F1. Called once the thread is known to be gone; main is told by the worker's exit, workers by main. */
  threadLost(thread: number, message: string): void {
    this.#threadKnownMax = Math.max(this.#threadKnownMax, thread);
    const reason: TerminationReason = { kind: 'thread_lost', message };
    this.#runtime.registry.forgetThread(thread);
    const link = this.#links.get(thread);
    this.#links.delete(thread);
    // Before anybody hears of the loss, and acts on it.
    const lost = [...this.#children].filter(([, { handle }]) => handle.thread === thread);
    for (const [actor] of lost) this.#takeChild(actor);
    link?.lose(message);
    this.#runtime.links.threadLost(thread, message);
    for (const [watch, { thread: watched, onTerminated }] of [...this.#watches]) {
      if (watched === thread && this.#watches.delete(watch)) onTerminated(reason);
    }
    for (const [actor, { id, parent }] of lost) parent.childEnded(id, actor, reason);
    for (const key of [...this.#watched.keys()]) {
      if (key.startsWith(`${thread}:`)) this.#unwatch(key);
    }
    for (const cell of [...this.#runtime.cells.values()]) {
      if (cell.parent.thread === thread) cell.kill();
    }
  }

  #onSignal(frame: SignalFrame, link: Link): void {
    switch (frame.kind) {
      case 'spawn':
        this.#spawn(frame.order, link);
        return;
      case 'stop':
        this.#runtime.cells.get(frame.actor)?.stop();
        return;
      case 'kill':
        this.#runtime.cells.get(frame.actor)?.kill();
        return;
      case 'child_started': {
        const child = this.#children.get(frame.actor);
        child?.parent.childStarted(child.id, frame.actor);
        return;
      }
      case 'child_retiring': {
        const child = this.#children.get(frame.actor);
        child?.parent.childRetiring?.(child.id, frame.actor);
        return;
      }
      case 'child_ended': {
        const child = this.#takeChild(frame.actor);
        child?.parent.childEnded(child.id, frame.actor, frame.reason);
        return;
      }
      case 'placed': {
        const isWanted = this.#takePending(frame.actor)?.place(frame.thread) ?? false;
        if (!isWanted) this.#source.giveBack(frame.thread);
        return;
      }
      case 'not_placed':
        this.#takePending(frame.actor)?.fail(frame.message);
        return;
      case 'watch':
        this.#watchHere(frame.watch, frame.actor, link);
        return;
      case 'unwatch':
        this.#unwatch(`${link.thread}:${frame.watch}`);
        return;
      case 'terminated': {
        const watch = this.#watches.get(frame.watch);
        this.#watches.delete(frame.watch);
        watch?.onTerminated(frame.reason);
        return;
      }
      case 'link':
      case 'unlink':
      case 'link_exit':
        this.#runtime.links.take(frame);
        return;
      case 'name_taken':
        this.#nameTaken(frame.name, frame.address, link);
        return;
      case 'name_refused':
        this.#runtime.registry.follow(frame.name, frame.bearer);
        this.#runtime.cells.get(frame.actor)?.crash(new Error(`the name ${frame.name} is taken`));
        return;
      case 'name_freed':
        this.#runtime.registry.unregister(frame.name, frame.address.actor);
        this.#passOn(frame, link);
        return;
      default:
        this.#onThreadSignal(frame, link);
    }
  }

  #takePending(actor: number): PendingChild | undefined {
    const pending = this.#pending.get(actor);
    this.#pending.delete(actor);
    return pending;
  }

  #spawn(order: SpawnOrder, link: Link): void {
    const { actor, path, module, exportName, args, options, isDedicated } = order;
    const parent: ParentHandle = {
      thread: link.thread,
      childStarted: () => link.signal({ kind: 'child_started', actor }),
      childEnded: (_id, _actor, reason) => {
        link.signal({ kind: 'child_ended', actor, reason });
        if (isDedicated) this.#source.giveBack(this.#runtime.thread);
      },
      childRetiring: () => link.signal({ kind: 'child_retiring', actor }),
    };
    // The cell is there at once, so that mail right behind this order finds it; its module may take a moment to load.
    this.#runtime.startLoadedCell(
      this.#loadBehaviour(module, exportName),
      args,
      options,
      actor,
      path,
      parent,
    );
  }

  /** F2. */
  #nameTaken(name: string, address: Address, link: Link): void {
    const bearer = this.#runtime.registry.find(name);
    if (bearer !== undefined && bearer.actor !== address.actor) {
      if (this.#runtime.thread === MAIN_THREAD) {
        link.signal({ kind: 'name_refused', name, actor: address.actor, bearer });
        return;
      }
      // Ours took the name meanwhile. It may be free again when the main thread hears of that, so ours bears it until it is
      // refused.
      if (bearer.thread === this.#runtime.thread) return;
    }
    this.#runtime.registry.follow(name, address);
    this.#passOn({ kind: 'name_taken', name, address }, link);
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

  /** Undefined for a thread that is gone. */
  #linkTo(thread: number): Link | undefined {
    const link = this.#links.get(thread);
    if (link !== undefined || thread <= this.#threadKnownMax || this.#runtime.thread === MAIN_THREAD)
      return link;
    return this.#open(thread, null); // F3
  }

  #open(thread: number, port: Port | null): Link {
    const link = new Link(
      thread,
      port,
      this.#runtime,
      (frame, from) => this.#onSignal(frame, from),
      (from) => this.#source.condemn(from.thread),
    );
    this.#links.set(thread, link);
    return link;
  }

  #signal(thread: number, frame: SignalFrame): void {
    this.#links.get(thread)?.signal(frame);
  }
}
