// Links: actors that go down together (see ActorContext.link), as one thread knows them.
// U1 Each end has a record of the link on its own thread. Whichever ends first tells the other, here or across threads.
// U2 A record is taken away before it is acted on, and an actor ends once: a circle of links goes down once around.
// U3 A link to an actor that has ended already, or whose thread is lost, is an end that comes at once.

import type { TerminationReason } from './actor.ts';
import type { Cell } from './cell.ts';
import type { Address } from './protocol.ts';
import type { Runtime } from './runtime.ts';

/** What the two ends tell each other; `actor` is the one that is told. */
export type LinkNotice =
  | { readonly kind: 'link'; readonly actor: number; readonly from: Address }
  | { readonly kind: 'unlink'; readonly actor: number; readonly from: number }
  | {
      readonly kind: 'link_exit';
      readonly actor: number;
      readonly from: number;
      readonly reason: TerminationReason;
    };

export class Links {
  readonly #runtime: Runtime;
  /** What each actor of this thread is linked to, by number. */
  readonly #linked = new Map<number, Map<number, Address>>();

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  link(cell: Cell, to: Address): void {
    if (to.actor === cell.actor || this.#linked.get(cell.actor)?.has(to.actor) === true) return;
    this.#keep(cell, to);
    const isTold = this.#tell(to.thread, { kind: 'link', actor: to.actor, from: cell.address });
    if (!isTold) this.#exited(cell.actor, to.actor, { kind: 'thread_lost', message: 'its thread is gone' });
  }

  unlink(cell: Cell, to: Address): void {
    if (this.#linked.get(cell.actor)?.delete(to.actor) !== true) return;
    this.#tell(to.thread, { kind: 'unlink', actor: to.actor, from: cell.actor });
  }

  take(notice: LinkNotice): void {
    switch (notice.kind) {
      case 'link':
        this.#accept(notice.actor, notice.from);
        return;
      case 'unlink':
        this.#linked.get(notice.actor)?.delete(notice.from);
        return;
      case 'link_exit':
        this.#exited(notice.actor, notice.from, notice.reason);
        return;
    }
  }

  threadLost(thread: number, message: string): void {
    for (const [actor, linked] of this.#linked) {
      for (const address of [...linked.values()]) {
        if (address.thread === thread) this.#exited(actor, address.actor, { kind: 'thread_lost', message });
      }
    }
  }

  /** An actor that others here are linked to has got its thread. */
  placed(address: Address): void {
    for (const linked of this.#linked.values()) {
      if (linked.has(address.actor)) linked.set(address.actor, address);
    }
  }

  #accept(actor: number, from: Address): void {
    const cell = this.#runtime.cells.get(actor);
    if (cell !== undefined) {
      this.#keep(cell, from);
      return;
    }
    const reason: TerminationReason = { kind: 'unknown_actor' };
    this.#tell(from.thread, { kind: 'link_exit', actor: from.actor, from: actor, reason });
  }

  #keep(cell: Cell, to: Address): void {
    const linked = this.#linked.get(cell.actor);
    if (linked !== undefined) {
      linked.set(to.actor, to);
      return;
    }
    this.#linked.set(cell.actor, new Map([[to.actor, to]]));
    cell.addWatcher((reason) => this.#ended(cell.actor, reason));
  }

  /** U1. */
  #ended(actor: number, reason: TerminationReason): void {
    const linked = this.#linked.get(actor);
    this.#linked.delete(actor);
    for (const to of linked?.values() ?? [])
      this.#tell(to.thread, { kind: 'link_exit', actor: to.actor, from: actor, reason });
  }

  /** U2. */
  #exited(actor: number, from: number, reason: TerminationReason): void {
    const linked = this.#linked.get(actor);
    const path = linked?.get(from)?.path;
    if (path === undefined || linked?.delete(from) !== true || reason.kind === 'stopped') return;
    const cell = this.#runtime.cells.get(actor);
    cell?.signalNow(() => cell.crash(new Error(crashOf(reason, path))));
  }

  /** False when that thread is gone. */
  #tell(thread: number, notice: LinkNotice): boolean {
    if (thread !== this.#runtime.thread && this.#runtime.others !== null)
      return this.#runtime.others.notify(thread, notice);
    this.take(notice);
    return true;
  }
}

/** The other's own reason, or what became of it. */
function crashOf(reason: Exclude<TerminationReason, { kind: 'stopped' }>, path: string): string {
  switch (reason.kind) {
    case 'crashed':
    case 'thread_lost':
      return reason.message;
    case 'killed':
      return `${path}, which it is linked to, was killed`;
    case 'unknown_actor':
      return `${path}, which it is linked to, is not there`;
  }
}
