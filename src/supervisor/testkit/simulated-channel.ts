// SimulatedChannel: two ports as a message channel has them, with delays that follow from a seed.
// U1 A port keeps the order of its batches. Batches of different ports overtake each other, by their different delays.
// U2 A batch is cloned when it is posted, as by a real port; what cannot be cloned throws there.
// U3 When a thread dies, what is on its way to it is lost, and of what it sent some last part may be.

import type { RandomSource } from '../../std/ids.ts';
import type { Batch, Port, SignalFrame } from '../threads/wire.ts';

export interface DeliveryDelays {
  /** A batch is on its way for up to this long. */
  readonly maxMs: number;
  /** Now and then a way is much longer. */
  readonly slow: { readonly chance: number; readonly maxMs: number };
}

interface OnItsWay {
  readonly batch: Batch;
  readonly dueMs: number;
}

export class SimulatedPort implements Port {
  /** The thread that holds this end. */
  holder: number;
  readonly #network: SimulatedNetwork;
  #peer: SimulatedPort | null = null;
  #arriving: OnItsWay[] = [];
  #lastDueMs = 0;
  #take: ((batch: Batch) => void) | null = null;
  #isClosed = false;

  constructor(network: SimulatedNetwork, holder: number) {
    this.#network = network;
    this.holder = holder;
  }

  get from(): number {
    return this.#peer?.holder ?? -1;
  }

  /** When the next batch can be taken; null when there is none, or nobody to take it. */
  get dueMs(): number | null {
    const next = this.#arriving[0];
    return next === undefined || this.#take === null ? null : next.dueMs;
  }

  join(peer: SimulatedPort): void {
    this.#peer = peer;
  }

  postMessage(batch: Batch, handedOver: readonly SimulatedPort[] = []): void {
    const peer = this.#peer;
    if (this.#isClosed || peer === null || peer.#isClosed) return;
    const copy = copyOf(batch);
    for (const port of handedOver) port.holder = peer.holder;
    peer.#lastDueMs = Math.max(peer.#lastDueMs, this.#network.nowMs() + this.#network.delayMs());
    peer.#arriving.push({ batch: copy, dueMs: peer.#lastDueMs });
  }

  /** A copy that could be made can be read. */
  on(event: 'message' | 'messageerror', take: (batch: Batch) => void): void {
    if (event === 'message') this.#take = take;
  }

  close(): void {
    this.#isClosed = true;
    this.#arriving = [];
  }

  /** Without a listener: what has arrived or still would. */
  shift(): Batch | undefined {
    return this.#arriving.shift()?.batch;
  }

  deliver(): Batch | undefined {
    const batch = this.shift();
    if (batch !== undefined) this.#take?.(batch);
    return batch;
  }

  /** U3. Returns how many batches of the thread that held this end are lost. */
  die(random: RandomSource): number {
    this.close();
    const sent = this.#peer === null ? [] : this.#peer.#arriving;
    const kept = random.float() < 0.5 ? sent.length : Math.floor(random.float() * (sent.length + 1));
    return sent.splice(kept).length;
  }
}

export class SimulatedNetwork {
  readonly #random: RandomSource;
  readonly #delays: DeliveryDelays;
  readonly nowMs: () => number;
  readonly ports: SimulatedPort[] = [];

  constructor(random: RandomSource, delays: DeliveryDelays, nowMs: () => number) {
    this.#random = random;
    this.#delays = delays;
    this.nowMs = nowMs;
  }

  delayMs(): number {
    const { maxMs, slow } = this.#delays;
    const isSlow = this.#random.float() < slow.chance;
    return this.#random.float() * (isSlow ? slow.maxMs : maxMs);
  }

  /** Both ends are the opener's until they are handed over. */
  channel(opener: number): readonly [SimulatedPort, SimulatedPort] {
    const one = new SimulatedPort(this, opener);
    const two = new SimulatedPort(this, opener);
    one.join(two);
    two.join(one);
    this.ports.push(one, two);
    return [one, two];
  }

  /** U3. */
  threadDies(thread: number): number {
    let lost = 0;
    for (const port of this.ports) if (port.holder === thread) lost += port.die(this.#random);
    return lost;
  }
}

/** U2. A port is handed over as it is. */
function copyOf(batch: Batch): Batch {
  const signals = batch.signals.map(
    (frame): SignalFrame => (frame.kind === 'connect' ? frame : structuredClone(frame)),
  );
  return { ...batch, signals, mail: structuredClone(batch.mail) };
}
