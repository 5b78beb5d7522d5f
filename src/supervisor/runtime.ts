// Runtime: the actor system's share of one thread. Cells, names, links to other threads, and the way between them.
// T1 An actor's number is unique in the system: the thread that spawns it chooses it, so a ref works before the actor does.
// T2 sent = handled + rejected + dead-lettered + still queued or on its way, summed over all threads, always.
// T3 What happens to a lost thread is told to each that asked: watchers, askers, parents; once.

import type { Clock } from '../std/clock.ts';
import type { RandomSource } from '../std/ids.ts';
import type { Log } from '../std/log.ts';
import type { ChildOptions, Placement, TerminationReason, ThreadServices } from './actor.ts';
import { Cell, type ParentHandle } from './cell.ts';
import type { ChildHandle, ChildSpec } from './children.ts';
import { DeadLetters, isRejection, type Refusal } from './dead-letters.ts';
import { Deadlines } from './deadlines.ts';
import type { Envelope, Owner } from './envelope.ts';
import { kernelFaults } from './faults.ts';
import type { Introspection } from './introspection/contract.ts';
import { inspectorOf } from './introspection/inspector.ts';
import { type LinkNotice, Links } from './links.ts';
import type { Address } from './protocol.ts';
import { ActorRef, type Target } from './ref.ts';
import { Registry } from './registry.ts';
import { type Executor, Scheduler } from './scheduler.ts';

export interface Counters {
  sent: number;
  handled: number;
  rejected: number;
  deadLettered: number;
  /** Of children, by the supervisors of this thread. */
  restarts: number;
}

/** The thread that the embedding program runs on: the edge. */
export const MAIN_THREAD = 0;

/** What a runtime needs of the threads around it; `threads/` implements it, a system of one thread has none. */
export interface OtherThreads {
  /** Delivers to an actor on another thread. */
  target(address: Address): Target;
  /** Starts a child there; its life is reported to `parent` on this thread. */
  launch(
    spec: ChildSpec,
    placement: Placement,
    actor: number,
    path: string,
    parent: ParentHandle,
  ): ChildHandle;
  watch(address: Address, onTerminated: (reason: TerminationReason) => void): () => void;
  /** Passes on what a link's end here tells the other one; false when that thread is gone. */
  notify(thread: number, notice: LinkNotice): boolean;
  nameTaken(name: string, address: Address): void;
  nameFreed(name: string, address: Address): void;
  /** Mail that waits here for a link's credit. */
  readonly heldLength: number;
}

/** Actor numbers of one thread; 2^20 threads may live and die before they run out. */
const ACTORS_PER_THREAD = 2 ** 33;

/** The inspector of a thread has the last of its numbers. */
export function inspectorAddress(thread: number): Address {
  return { thread, actor: inspectorActor(thread), path: `(inspector of thread ${thread})` };
}

export interface RuntimeOptions {
  readonly thread: number;
  readonly clock: Clock;
  readonly random: RandomSource;
  readonly log: Log;
  readonly services: ThreadServices;
  readonly executor: Executor;
}

export class Runtime {
  readonly thread: number;
  readonly clock: Clock;
  readonly startedAtMs: number;
  readonly random: RandomSource;
  readonly log: Log;
  readonly services: ThreadServices;
  readonly scheduler: Scheduler;
  readonly deadlines: Deadlines;
  readonly registry = new Registry();
  readonly deadLetters = new DeadLetters();
  readonly counters: Counters = { sent: 0, handled: 0, rejected: 0, deadLettered: 0, restarts: 0 };
  readonly cells = new Map<number, Cell>();
  /** Who wants to hear that this thread is being left (see threads/retirement.ts). */
  readonly retireHooks = new Set<() => void>();
  /** The message whose handler is on the stack of this thread. */
  handling: Envelope | null = null;
  others: OtherThreads | null = null;
  readonly links = new Links(this);
  /** Of the whole system; on the main thread only. */
  introspection: Introspection | null = null;
  /** What actors' authors show of their state. */
  readonly exposed = new WeakMap<Cell, () => unknown>();
  #inspector: Cell | null = null;
  #actorNext: number;

  constructor(options: RuntimeOptions) {
    this.thread = options.thread;
    this.clock = options.clock;
    this.startedAtMs = options.clock.nowMs();
    this.random = options.random;
    this.log = options.log;
    this.services = options.services;
    this.scheduler = new Scheduler(options.executor, options.clock);
    this.deadlines = new Deadlines(options.clock);
    this.#actorNext = options.thread * ACTORS_PER_THREAD + 1;
  }

  /** Starts an incarnation of a child where its placement says. */
  launch(spec: ChildSpec, parent: Cell): ChildHandle {
    const actor = this.#actorNext;
    this.#actorNext += 1;
    const path = parent.children.pathOf(spec.options.id);
    const placement = spec.options.placement ?? 'parent';
    const isHere = placement === 'parent' || (placement === 'edge' && this.thread === MAIN_THREAD);
    if (isHere || this.others === null) return this.startCell(spec, actor, path, parent.children);
    return this.others.launch(spec, placement, actor, path, parent.children);
  }

  /** Starts a cell on this thread, for a parent that may be elsewhere. */
  startCell(spec: ChildSpec, actor: number, path: string, parent: ParentHandle): Cell {
    const cell = this.#newCell(spec.options, actor, path, parent);
    if (this.#takeName(cell, spec)) cell.start(spec.behaviour, spec.args);
    return cell;
  }

  /** The same for a behaviour whose module is still being loaded; mail waits in the cell meanwhile. */
  startLoadedCell(
    loading: Promise<ChildSpec['behaviour']>,
    args: unknown,
    options: ChildOptions,
    actor: number,
    path: string,
    parent: ParentHandle,
  ): void {
    const cell = this.#newCell(options, actor, path, parent);
    loading.then(
      (behaviour) =>
        cell.signalNow(() => {
          if (!cell.isEnding && this.#takeName(cell, { behaviour, args, options }))
            cell.start(behaviour, args);
        }),
      (error: unknown) => cell.signalNow(() => cell.crash(error)),
    );
  }

  /** Whom mail for that number is for: an actor, or the inspector, which is started by it. */
  cellFor(actor: number): Cell | undefined {
    return this.cells.get(actor) ?? (actor === inspectorActor(this.thread) ? this.#inspect() : undefined);
  }

  /** The thread's own actors have ended: nobody is left to be looked at. */
  closeInspector(): void {
    this.#inspector?.stop();
  }

  /** Called by a cell that has terminated. */
  forget(cell: Cell): void {
    this.cells.delete(cell.actor);
    if (cell.name !== null && this.registry.unregister(cell.name, cell.actor)) {
      this.others?.nameFreed(cell.name, cell.address);
    }
  }

  refOfChild(handle: ChildHandle, id: string, parent: Cell, owner: Owner | null): ActorRef {
    if (isTarget(handle)) return new ActorRef(handle, this.deadlines, owner);
    return this.refTo(
      { thread: handle.thread, actor: handle.actor, path: parent.children.pathOf(id) },
      owner,
    );
  }

  refTo(address: Address, owner: Owner | null): ActorRef {
    return new ActorRef(this.targetOf(address), this.deadlines, owner);
  }

  named(name: string, owner: Owner | null): ActorRef {
    const target: Target = {
      path: name,
      address: null,
      post: (envelope) => {
        const address = this.registry.find(name);
        if (address !== undefined) return this.targetOf(address).post(envelope);
        this.counters.sent += 1;
        this.refuse(name, envelope, 'unknown_name');
        return false;
      },
    };
    return new ActorRef(target, this.deadlines, owner);
  }

  watch(address: Address, onTerminated: (reason: TerminationReason) => void): () => void {
    if (address.thread !== this.thread && this.others !== null)
      return this.others.watch(address, onTerminated);
    const cell = this.cells.get(address.actor);
    if (cell !== undefined) return cell.addWatcher(onTerminated);
    onTerminated({ kind: 'unknown_actor' });
    return () => undefined;
  }

  /** Mail of this thread that is not handled yet: in mailboxes, and waiting for a link's credit (T2). */
  queued(): number {
    let length = this.queuedBeside();
    for (const cell of this.cells.values()) length += cell.mailboxLength;
    return length;
  }

  /** What of it is not in a mailbox of `cells`. */
  queuedBeside(): number {
    return (this.others?.heldLength ?? 0) + (this.#inspector?.mailboxLength ?? 0);
  }

  /** Counts and answers mail that will not be handled (T2). */
  refuse(target: string, envelope: Envelope, refusal: Refusal): void {
    if (isRejection(refusal)) this.counters.rejected += 1;
    else this.counters.deadLettered += 1;
    this.deadLetters.add({ atMs: this.clock.nowMs(), target, message: envelope.name, refusal });
    if (envelope.kind !== 'tell') envelope.asker.fail(faultOf(refusal, target));
    envelope.origin?.settled();
  }

  #inspect(): Cell {
    if (this.#inspector !== null) return this.#inspector;
    const { actor, path } = inspectorAddress(this.thread);
    const parent: ParentHandle = {
      thread: this.thread,
      childStarted: () => undefined,
      childEnded: () => {
        this.#inspector = null;
      },
    };
    const cell = new Cell(this, actor, path, { id: path }, parent);
    this.#inspector = cell;
    cell.start(inspectorOf(this), undefined);
    return cell;
  }

  #newCell(options: ChildOptions, actor: number, path: string, parent: ParentHandle): Cell {
    const cell = new Cell(this, actor, path, options, parent);
    this.cells.set(actor, cell);
    return cell;
  }

  /** False when the name was taken: then the cell has crashed. */
  #takeName(cell: Cell, spec: ChildSpec): boolean {
    const name = nameOf(spec);
    if (name === null) return true;
    if (!this.registry.register(name, cell.address)) {
      cell.crash(new Error(`the name ${name} is taken`));
      return false;
    }
    cell.name = name;
    this.others?.nameTaken(name, cell.address);
    return true;
  }

  targetOf(address: Address): Target {
    if (address.thread !== this.thread && this.others !== null) return this.others.target(address);
    return this.cellFor(address.actor) ?? this.#nobody(address);
  }

  #nobody(address: Address): Target {
    return {
      path: address.path,
      address,
      post: (envelope) => {
        this.counters.sent += 1;
        this.refuse(address.path, envelope, 'terminated');
        return false;
      },
    };
  }
}

function inspectorActor(thread: number): number {
  return (thread + 1) * ACTORS_PER_THREAD - 1;
}

/** A cell is, and a child that has no thread yet. */
function isTarget(handle: ChildHandle): handle is ChildHandle & Target {
  return 'post' in handle;
}

export function nameOf(spec: ChildSpec): string | null {
  const { name } = spec.options;
  if (name === undefined) return null;
  return name === true ? spec.behaviour.protocol.name : name;
}

function faultOf(refusal: Refusal, target: string): ReturnType<typeof kernelFaults.actor_terminated> {
  switch (refusal) {
    case 'unknown_name':
    case 'routee_down':
    case 'not_activated':
      return kernelFaults.actor_unavailable(`${target} is not there at the moment`);
    case 'mailbox_full':
    case 'dropped_oldest':
    case 'link_full':
      return kernelFaults.mailbox_full(`${target} has too much to do`, { retryAfterMs: 1000 });
    case 'not_plain':
      return kernelFaults.message_refused(`a message to ${target} is not plain data`);
    case 'not_understood':
      return kernelFaults.message_refused(`${target} does not understand this message`);
    case 'terminated':
    case 'thread_lost':
      return kernelFaults.actor_terminated(`${target} is gone`);
  }
}
