// Ledger: what the actors of a simulation did, written down by themselves in one place, and what may not happen.
// It knows the truth, since all simulated threads share it, so it sees what no single actor could: see verdict.ts for
// what must be true at the end.

import type { Restart, SupervisionStrategy, TerminationReason } from '../../src/supervisor/actor.ts';
import type { Address } from '../../src/supervisor/protocol.ts';

declare module '../../src/supervisor/actor.ts' {
  interface ThreadServices {
    readonly ledger?: Ledger;
  }
}

/** The scenario itself, which is no actor. */
export const OUTSIDE = -1;

/** How long the children may take to stop. */
export const SHUTDOWN_MS = 500;

export interface ChildPlan {
  /** One a spawn: all incarnations of the child share it. */
  readonly spawn: string;
  readonly parent: number;
  readonly restart: Restart;
  readonly isBounded: boolean;
  readonly strategy: SupervisionStrategy;
  readonly restartsMax: number;
  readonly backoffMaxMs: number;
  readonly setupMs: number;
  readonly setupFailures: number;
  readonly stopMs: number;
}

export interface Incarnation {
  readonly address: Address;
  readonly plan: ChildPlan;
  readonly startedAtMs: number;
  /** When it began to stop. */
  endingAtMs: number | null;
  /** When it failed by itself; null when it did not. */
  crashedAtMs: number | null;
  reason: TerminationReason | null;
}

export interface Mail {
  readonly id: number;
  readonly from: number;
  /** Null when it was sent to a name. */
  readonly to: number | null;
}

export interface Sent {
  readonly mail: Mail;
  readonly atMs: number;
  readonly deadlineMs: number | null;
  isTaken: boolean;
  handledBy: number | null;
  settled: { readonly atMs: number; readonly outcome: string } | null;
}

export interface Watch {
  readonly watcher: number;
  readonly target: number;
  isOpen: boolean;
  told: TerminationReason | null;
}

export interface Bond {
  readonly one: number;
  readonly other: number;
  readonly atMs: number;
  isOpen: boolean;
}

export interface Sequence {
  readonly count: number;
  items: number;
  ended: string | null;
  opened: number;
  closed: number;
}

export interface Surroundings {
  nowMs(): number;
  note(text: string): void;
  threadEndedAtMs(thread: number): number | null;
  standsStill(thread: number): boolean;
  /** Then children are started again without a failure. */
  readonly areThreadsRetired: boolean;
}

export class Ledger {
  readonly incarnations = new Map<number, Incarnation>();
  readonly sent = new Map<number, Sent>();
  readonly watches = new Map<number, Watch>();
  readonly bonds = new Map<number, Bond>();
  readonly streams = new Map<number, Sequence>();
  /** Children that somebody stopped for good. */
  readonly dismissed = new Set<string>();
  readonly violations: string[] = [];
  readonly #around: Surroundings;
  readonly #asideSince = new Map<number, Set<number>>();
  readonly #settingAside = new Set<number>();
  readonly #latest = new Map<string, number>();
  readonly #spawned = new Map<string, string>();
  readonly #timers = new Map<string, number>();
  #numberNext = 1;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get areThreadsRetired(): boolean {
    return this.#around.areThreadsRetired;
  }

  get nowMs(): number {
    return this.#around.nowMs();
  }

  number(): number {
    this.#numberNext += 1;
    return this.#numberNext;
  }

  /** Neither stopping nor lost with its thread. */
  isAlive(actor: number): boolean {
    const incarnation = this.incarnations.get(actor);
    return incarnation !== undefined && incarnation.endingAtMs === null && this.isReachable(actor);
  }

  isReachable(actor: number): boolean {
    const incarnation = this.incarnations.get(actor);
    return actor === OUTSIDE || (incarnation !== undefined && this.#isOn(incarnation.address.thread));
  }

  /** When it began to stop; when its thread died, where what it said at its own end may have died too. */
  endedAtMs(actor: number): number {
    const incarnation = this.incarnations.get(actor);
    if (incarnation === undefined) return Number.POSITIVE_INFINITY;
    const threadEndedAtMs = this.#around.threadEndedAtMs(incarnation.address.thread);
    return threadEndedAtMs ?? incarnation.endingAtMs ?? Number.POSITIVE_INFINITY;
  }

  // ---- Life

  started(address: Address, plan: ChildPlan): number {
    const earlier = [...this.incarnations.values()].filter((one) => one.plan.spawn === plan.spawn);
    for (const one of earlier) {
      if (this.isAlive(one.address.actor))
        this.violate(`${plan.spawn} was started again while ${one.address.actor} was alive`);
    }
    if (earlier.length > 0 && plan.restart === 'temporary')
      this.violate(`${plan.spawn} is temporary and was started again`);
    const incarnation = { address, plan, startedAtMs: this.nowMs, endingAtMs: null, crashedAtMs: null };
    const earlierOnes = earlier.filter((one) => one.reason?.kind === 'stopped');
    const parent = this.incarnations.get(plan.parent);
    // Its siblings' restarts stop it as well, a slow stop is a kill, and a lost thread may have taken the news along.
    const isSure =
      !this.areThreadsRetired && parent?.plan.strategy === 'one_for_one' && plan.stopMs < SHUTDOWN_MS / 2;
    if (isSure && plan.restart === 'transient' && earlierOnes.some((one) => this.#isOn(one.address.thread)))
      this.violate(`${plan.spawn} is transient and was started again after a stop`);
    this.incarnations.set(address.actor, { ...incarnation, reason: null });
    this.note(`${address.actor} starts as ${address.path}, spawned as ${plan.spawn}`);
    return earlier.length;
  }

  spawned(parent: number, id: string, spawn: string): void {
    this.#spawned.set(`${parent} ${id}`, spawn);
  }

  /** The child of that id is being stopped for good, if there is one. */
  dismiss(parent: number, id: string): void {
    this.dismissed.add(this.#spawned.get(`${parent} ${id}`) ?? '');
  }

  ending(actor: number): void {
    const incarnation = this.incarnations.get(actor);
    if (incarnation === undefined) return;
    if (incarnation.endingAtMs !== null) this.violate(`${actor} ended twice`);
    incarnation.endingAtMs = this.nowMs;
    this.note(`${actor} ends`);
  }

  stopped(actor: number, reason: TerminationReason): void {
    const incarnation = this.incarnations.get(actor);
    if (incarnation === undefined) return;
    if (incarnation.reason !== null) this.violate(`${actor} was cleaned up twice`);
    incarnation.reason = reason;
    this.note(`${actor} is cleaned up: ${reason.kind}`);
  }

  /** To be called right before the throw. */
  crashing(actor: number): void {
    const incarnation = this.incarnations.get(actor);
    if (incarnation !== undefined && incarnation.endingAtMs === null) incarnation.crashedAtMs = this.nowMs;
  }

  /** Anything that the kernel lets an actor do: not after its end began. */
  does(actor: number, what: string): void {
    this.note(`${actor} ${what}`);
    if (!this.isAlive(actor)) this.violate(`${actor} ${what} after its end`);
  }

  // ---- Mail

  send(from: number, to: number | null, deadlineMs: number | null): Mail {
    const mail = { id: this.number(), from, to };
    this.sent.set(mail.id, {
      mail,
      atMs: this.nowMs,
      deadlineMs,
      isTaken: true,
      handledBy: null,
      settled: null,
    });
    return mail;
  }

  handle(actor: number, { id, from, to }: Mail): void {
    this.does(actor, `handles ${id} of ${from}`);
    const sent = this.sent.get(id);
    if (sent === undefined || sent.handledBy !== null) {
      this.violate(`${actor} handled ${id}, which ${sent?.handledBy ?? 'nobody'} had handled or sent`);
      return;
    }
    sent.handledBy = actor;
    if (!sent.isTaken) this.violate(`${actor} handled ${id}, which had been refused`);
    if (to !== null && to !== actor) this.violate(`${actor} handled ${id}, which was sent to ${to}`);
    // What was set aside comes later than it was sent, but in order too.
    const isAside = this.#asideSince.get(actor)?.has(id) === true;
    const pair = `${from}>${actor}${isAside ? ' aside' : ''}`;
    if (id < (this.#latest.get(pair) ?? 0)) this.violate(`${actor} handled ${id} of ${from} out of order`);
    this.#latest.set(pair, id);
  }

  beginAside(actor: number): void {
    this.#settingAside.add(actor);
  }

  endAside(actor: number): void {
    this.does(actor, 'takes back what it set aside');
    this.#settingAside.delete(actor);
  }

  /** True when the actor is to set this one aside. */
  setsAside(actor: number, { id, from }: Mail): boolean {
    if (!this.#settingAside.has(actor)) return false;
    this.does(actor, `sets ${id} of ${from} aside`);
    const aside = this.#asideSince.get(actor) ?? new Set();
    this.#asideSince.set(actor, aside.add(id));
    return true;
  }

  settle(id: number, outcome: string): void {
    this.note(`ask ${id} settles: ${outcome}`);
    const sent = this.sent.get(id);
    if (sent === undefined) return;
    if (sent.settled !== null) this.violate(`ask ${id} settled twice: ${sent.settled.outcome}, ${outcome}`);
    sent.settled = { atMs: this.nowMs, outcome };
    if (outcome === 'reply' && sent.handledBy === null) this.violate(`ask ${id} was answered by nobody`);
    if (outcome === 'ask_timeout' && this.nowMs - sent.atMs < (sent.deadlineMs ?? 0) - 0.001)
      this.violate(`ask ${id} timed out before its deadline`);
  }

  // ---- Links

  link(one: number, other: number): number {
    const bond = this.number();
    this.bonds.set(bond, { one, other, atMs: this.nowMs, isOpen: true });
    return bond;
  }

  unlink(bond: number): void {
    const found = this.bonds.get(bond);
    if (found === undefined) return;
    // Two actors have one link, whoever made it, and how often.
    const pair = [found.one, found.other];
    for (const other of this.bonds.values())
      if (pair.includes(other.one) && pair.includes(other.other)) other.isOpen = false;
  }

  // ---- Watches

  watch(watcher: number, target: number): number {
    const watch = this.number();
    this.watches.set(watch, { watcher, target, isOpen: true, told: null });
    return watch;
  }

  told(watch: number, reason: TerminationReason): void {
    const found = this.watches.get(watch);
    if (found === undefined) return;
    this.does(found.watcher, `is told that ${found.target} has terminated: ${reason.kind}`);
    if (!found.isOpen) this.violate(`watch ${watch} was taken back and told all the same`);
    if (found.told !== null) this.violate(`watch ${watch} on ${found.target} was told twice`);
    // A thread that stands still may be given up before it is ended.
    const thread = this.incarnations.get(found.target)?.address.thread ?? 0;
    const isGivenUp = reason.kind === 'thread_lost' && this.#around.standsStill(thread);
    if (this.isAlive(found.target) && !isGivenUp)
      this.violate(`watch ${watch} was told of the living ${found.target}`);
    found.told = reason;
  }

  // ---- Streams

  open(id: number, count: number): void {
    this.streams.set(id, { count, items: 0, ended: null, opened: 0, closed: 0 });
  }

  item(id: number, item: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    if (item !== stream.items) this.violate(`stream ${id} gave ${item} in place of ${stream.items}`);
    if (stream.ended !== null) this.violate(`stream ${id} gave ${item} after its end`);
    stream.items += 1;
  }

  endOfStream(id: number, how: string): void {
    this.note(`stream ${id} ends: ${how}`);
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    if (stream.ended !== null) this.violate(`stream ${id} ended twice`);
    stream.ended = how;
    if (how === 'done' && stream.items !== stream.count)
      this.violate(`stream ${id} ended after ${stream.items} of ${stream.count}`);
  }

  // ---- Timers

  timer(actor: number, key: string): number {
    const token = this.number();
    this.#timers.set(`${actor} ${key}`, token);
    return token;
  }

  fired(actor: number, key: string, token: number): void {
    this.does(actor, `hears its timer ${key}`);
    if (this.#timers.get(`${actor} ${key}`) !== token) this.violate(`a replaced timer of ${actor} fired`);
  }

  note(text: string): void {
    this.#around.note(text);
  }

  violate(what: string): void {
    this.note(`VIOLATION ${what}`);
    this.violations.push(`at ${this.nowMs.toFixed(3)} ms: ${what}`);
  }

  #isOn(thread: number): boolean {
    return this.#around.threadEndedAtMs(thread) === null;
  }
}
