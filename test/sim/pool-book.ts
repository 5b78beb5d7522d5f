// PoolBook: what the members of a simulated pool did, written down by themselves, and what may not happen to any of them.
// B1 Nothing is handled twice, after its handler's end, or when it was refused.
// B2 What one sender sent to one member, or to one identity, is handled in that order.
// B3 An identity has one incarnation at a time, but for one that has been orphaned and is about to end.

import type { Address } from '../../src/supervisor/protocol.ts';
import type { SimulatedThread } from '../../src/supervisor/testkit/index.ts';

declare module '../../src/supervisor/actor.ts' {
  interface ThreadServices {
    readonly book?: PoolBook;
  }
}

export type Way = 'tell' | 'ask' | 'stream';

export interface Letter {
  readonly id: number;
  readonly from: number;
  readonly key: string;
  readonly workMs: number;
  readonly items: number;
  readonly isFatal: boolean;
}

interface Sent {
  readonly way: Way;
  readonly to: string;
  readonly from: Address;
  isRefused: boolean;
  isHandled: boolean;
  /** How an ask or a stream ended. */
  outcome: string | null;
}

interface Life {
  readonly address: Address;
  readonly key: string | null;
}

export class PoolBook {
  readonly sent = new Map<number, Sent>();
  readonly violations: string[] = [];
  streamsOpen = 0;
  readonly #threads: () => readonly SimulatedThread[];
  readonly #lives: Life[] = [];
  readonly #latest = new Map<string, number>();

  constructor(threads: () => readonly SimulatedThread[]) {
    this.#threads = threads;
  }

  isThere({ thread, actor }: Address): boolean {
    const { isAlive = false, runtime = null } = this.#threads()[thread] ?? {};
    return isAlive && runtime?.cells.get(actor)?.isTerminated === false;
  }

  /** Of the residents that are there. */
  get residents(): readonly Life[] {
    return this.#lives.filter(({ key, address }) => key !== null && this.isThere(address));
  }

  begin(address: Address, key: string | null): void {
    // B3
    const others = this.residents.filter((life) => life.key === key && !this.#isOrphan(life.address));
    if (others.length > 0) this.violate(`there are two of ${key}`);
    this.#lives.push({ address, key });
  }

  /** Those who are above it were lost with their thread: it is ended as soon as its own thread has heard of that. */
  #isOrphan({ thread, path }: Address): boolean {
    const cells = [...(this.#threads()[thread]?.runtime?.cells.values() ?? [])];
    const above = cells.filter((cell) => path.startsWith(`${cell.path}/`));
    return above.some(({ parent }) => this.#threads()[parent.thread]?.isAlive === false);
  }

  send(way: Way, to: string, from: Address): number {
    const id = this.sent.size + 1;
    this.sent.set(id, { way, to, from, isRefused: false, isHandled: false, outcome: null });
    return id;
  }

  refused(id: number): void {
    const sent = this.sent.get(id);
    if (sent !== undefined) sent.isRefused = true;
  }

  ended(id: number, outcome: string): void {
    const sent = this.sent.get(id);
    if (sent === undefined) return;
    if (sent.outcome !== null) this.violate(`${id} ended twice: ${sent.outcome}, ${outcome}`);
    sent.outcome = outcome;
  }

  handle(address: Address, own: string | null, { id, from }: Letter): void {
    const sent = this.sent.get(id);
    if (sent === undefined) return;
    // B1
    if (sent.isHandled) this.violate(`${id} was handled twice`);
    if (sent.isRefused) this.violate(`${id} was refused and handled`);
    if (!this.isThere(address)) this.violate(`${address.path} handled ${id} after its end`);
    sent.isHandled = true;
    // B2
    const pair = `${from} to ${sent.to} ${own ?? address.actor}`;
    if (id < (this.#latest.get(pair) ?? 0)) this.violate(`${id} came out of order: ${pair}`);
    this.#latest.set(pair, id);
  }

  violate(what: string): void {
    this.violations.push(what);
  }
}
