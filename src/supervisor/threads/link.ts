// Link: this thread's end of the channel to one other thread.
// I1 Frames of one turn go out as one batch (postMessage costs as much for 64 frames as for one).
// I2 At most CREDIT_WINDOW messages are on their way or in mailboxes at the other end; further ones wait here, up to
//    HELD_MAX, then they are rejected. Signals, replies and stream items are not held: they answer what was asked for.
// I3 When the other thread is lost, every ask to it fails, everything it asked for is aborted, what it had not settled is
//    dead-lettered, once.

import type { MessagePort, Transferable } from 'node:worker_threads';
import { faultFromWire, type Fault, faultToWire } from '../../std/errors.ts';
import type { Asker, Envelope, MailOrigin, StreamAsker } from '../envelope.ts';
import { kernelFaults } from '../faults.ts';
import { Mailbox } from '../mailbox.ts';
import type { Address } from '../protocol.ts';
import type { Runtime } from '../runtime.ts';
import { type Batch, MAIL, type MailFrame, type SignalFrame } from './wire.ts';

const CREDIT_WINDOW = 8_192;
const HELD_MAX = 65_536;
/** Credit goes back with the next batch, or on its own when this much has gathered. */
const CREDIT_RETURN_AT = CREDIT_WINDOW / 4;

interface Held {
  readonly address: Address;
  readonly envelope: Envelope;
}

export class Link implements MailOrigin {
  readonly thread: number;
  readonly #port: MessagePort;
  readonly #runtime: Runtime;
  readonly #onSignal: (frame: SignalFrame, link: Link) => void;
  #signals: SignalFrame[] = [];
  #mail: MailFrame[] = [];
  #transfers: Transferable[] = [];
  #isFlushing = false;
  #isLost = false;
  #inFlight = 0;
  #toSettle = 0;
  #settledThere = 0;
  #receivedFromThere = 0;
  readonly #held = new Mailbox<Held>({ lengthMax: HELD_MAX, whenFull: 'reject' });
  #correlationNext = 1;
  /** Our questions to the other thread. */
  readonly #asked = new Map<number, Asker | StreamAsker>();
  /** The other thread's questions to us. */
  readonly #answering = new Map<number, RemoteAsker>();

  constructor(
    thread: number,
    port: MessagePort,
    runtime: Runtime,
    onSignal: (frame: SignalFrame, link: Link) => void,
  ) {
    this.thread = thread;
    this.#port = port;
    this.#runtime = runtime;
    this.#onSignal = onSignal;
    port.on('message', (batch: Batch) => this.#receive(batch));
  }

  /** Takes an envelope for an actor over there (see Target.post). */
  post(address: Address, envelope: Envelope): boolean {
    this.#runtime.counters.sent += 1;
    if (this.#isLost) {
      this.#runtime.refuse(address.path, envelope, 'thread_lost');
      return false;
    }
    if (this.#inFlight >= CREDIT_WINDOW) {
      if (this.#held.isFull) {
        this.#runtime.refuse(address.path, envelope, 'link_full');
        return false;
      }
      this.#held.push({ address, envelope });
      return true;
    }
    this.#dispatch(address, envelope);
    return true;
  }

  signal(frame: SignalFrame, transfers: readonly Transferable[] = []): void {
    if (this.#isLost) return;
    this.#signals.push(frame);
    this.#transfers.push(...transfers);
    this.#flushSoon();
  }

  /** MailOrigin: a message from over there has left its mailbox here. */
  settled(): void {
    this.#toSettle += 1;
    if (this.#toSettle >= CREDIT_RETURN_AT) this.#flushSoon();
  }

  send(frame: MailFrame): void {
    if (this.#isLost) return;
    this.#mail.push(frame);
    this.#flushSoon();
  }

  /** The answer to correlation `correlation` has gone out. */
  answered(correlation: number): void {
    this.#answering.delete(correlation);
  }

  /** Keeps the event loop alive, or not, for this channel's sake. */
  unref(): void {
    this.#port.unref();
  }

  flush(): void {
    this.#isFlushing = false;
    if (this.#isLost || (this.#signals.length === 0 && this.#mail.length === 0 && this.#toSettle === 0)) return;
    const batch: Batch = { settled: this.#toSettle, signals: this.#signals, mail: this.#mail };
    const transfers = this.#transfers;
    this.#toSettle = 0;
    this.#signals = [];
    this.#mail = [];
    this.#transfers = [];
    try {
      this.#port.postMessage(batch, transfers);
    } catch {
      this.#postSingly(batch, transfers);
    }
  }

  /** I3. */
  lose(message: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#port.close();
    const fault = kernelFaults.actor_terminated(message);
    for (const asker of this.#asked.values()) asker.fail(fault);
    this.#asked.clear();
    for (const asker of [...this.#answering.values()]) asker.abandon();
    this.#answering.clear();
    // In flight and unsettled: what became of these is not known, so they count as lost.
    this.#runtime.counters.deadLettered += this.#inFlight;
    this.#inFlight = 0;
    // The lost thread's own counters went with it; its share in the sums is kept here.
    this.#runtime.counters.handled += this.#settledThere;
    this.#runtime.counters.sent += this.#receivedFromThere;
    for (const { address, envelope } of this.#held.drain()) {
      this.#runtime.refuse(address.path, envelope, 'thread_lost');
    }
  }

  #dispatch(address: Address, envelope: Envelope): void {
    this.#inFlight += 1;
    const { actor, path } = address;
    const { name, message } = envelope;
    if (envelope.kind === 'tell') this.send([MAIL.tell, actor, path, name, message]);
    else {
      const correlation = this.#correlationNext;
      this.#correlationNext += 1;
      const { asker } = envelope;
      this.#asked.set(correlation, asker);
      this.send([envelope.kind === 'call' ? MAIL.call : MAIL.stream, actor, path, name, message, correlation]);
      asker.onAbandoned(() => {
        if (this.#asked.delete(correlation)) this.send([MAIL.abandon, correlation]);
      });
      if (envelope.kind === 'stream') {
        envelope.asker.onGranted((credit) => this.send([MAIL.grant, correlation, credit]));
      }
    }
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // After the microtasks that are queued now: the rest of a drain joins this batch (I1).
    queueMicrotask(() => this.flush());
  }

  #receive(batch: Batch): void {
    if (this.#isLost) return;
    this.#inFlight -= batch.settled;
    this.#settledThere += batch.settled;
    for (const frame of batch.signals) this.#onSignal(frame, this);
    for (const frame of batch.mail) this.#take(frame);
    while (this.#held.length > 0 && this.#inFlight < CREDIT_WINDOW) {
      const held = this.#held.shift();
      if (held !== undefined) this.#dispatch(held.address, held.envelope);
    }
  }

  #take(frame: MailFrame): void {
    switch (frame[0]) {
      case MAIL.tell:
        this.#deliver(frame[1], frame[2], { kind: 'tell', name: frame[3], message: frame[4], origin: this });
        return;
      case MAIL.call: {
        const asker = this.#answer(frame[5]);
        this.#deliver(frame[1], frame[2], { kind: 'call', name: frame[3], message: frame[4], origin: this, asker });
        return;
      }
      case MAIL.stream: {
        const asker = this.#answer(frame[5]);
        this.#deliver(frame[1], frame[2], { kind: 'stream', name: frame[3], message: frame[4], origin: this, asker });
        return;
      }
      case MAIL.reply:
        this.#settle(frame[1])?.reply(frame[2]);
        return;
      case MAIL.fail:
        this.#settle(frame[1])?.fail(faultFromWire(frame[2]));
        return;
      case MAIL.item: {
        const asker = this.#asked.get(frame[1]);
        if (asker !== undefined && 'item' in asker) asker.item(frame[2]);
        return;
      }
      case MAIL.end: {
        const asker = this.#settle(frame[1]);
        if (asker !== undefined && 'end' in asker) asker.end();
        return;
      }
      case MAIL.grant:
        this.#answering.get(frame[1])?.grant(frame[2]);
        return;
      case MAIL.abandon:
        this.#answering.get(frame[1])?.abandon();
        return;
    }
  }

  #deliver(actor: number, path: string, envelope: Envelope): void {
    // Counted as sent where it was sent; here only what comes of it.
    this.#receivedFromThere += 1;
    this.#runtime.counters.sent -= 1;
    const cell = this.#runtime.cells.get(actor);
    if (cell !== undefined) {
      cell.post(envelope);
      return;
    }
    this.#runtime.counters.sent += 1;
    this.#runtime.refuse(path, envelope, 'terminated');
  }

  #answer(correlation: number): RemoteAsker {
    const asker = new RemoteAsker(this, correlation);
    this.#answering.set(correlation, asker);
    return asker;
  }

  #settle(correlation: number): Asker | StreamAsker | undefined {
    const asker = this.#asked.get(correlation);
    this.#asked.delete(correlation);
    return asker;
  }

  /** One frame of the batch cannot be cloned: the others must not suffer for it. */
  #postSingly(batch: Batch, transfers: readonly Transferable[]): void {
    this.#port.postMessage({ settled: batch.settled, signals: batch.signals, mail: [] }, [...transfers]);
    for (const frame of batch.mail) {
      try {
        this.#port.postMessage({ settled: 0, signals: [], mail: [frame] });
      } catch {
        this.#refuseUncloneable(frame);
      }
    }
  }

  #refuseUncloneable(frame: MailFrame): void {
    const fault = kernelFaults.message_refused('a message was not plain data and could not cross threads');
    switch (frame[0]) {
      case MAIL.tell:
        this.#inFlight -= 1;
        this.#runtime.refuse(
          frame[2],
          { kind: 'tell', name: frame[3], message: null, origin: null },
          'not_plain',
        );
        return;
      case MAIL.call:
      case MAIL.stream: {
        this.#inFlight -= 1;
        const asker = this.#settle(frame[5]);
        if (asker === undefined) return;
        this.#runtime.refuse(frame[2], { kind: 'call', name: frame[3], message: null, origin: null, asker }, 'not_plain');
        return;
      }
      case MAIL.reply:
      case MAIL.item:
        this.send([MAIL.fail, frame[1], faultToWire(fault)]);
        return;
      default:
        throw fault;
    }
  }
}

/** Stands in for an asker on the other thread. */
class RemoteAsker implements StreamAsker {
  readonly #link: Link;
  readonly #correlation: number;
  #abandoned: (() => void) | null = null;
  #granted: ((credit: number) => void) | null = null;
  /** Granted before the handler listened. */
  #creditEarly = 0;
  #isDone = false;

  constructor(link: Link, correlation: number) {
    this.#link = link;
    this.#correlation = correlation;
  }

  reply(value: unknown): void {
    if (this.#finish()) this.#link.send([MAIL.reply, this.#correlation, value]);
  }

  fail(fault: Fault): void {
    if (this.#finish()) this.#link.send([MAIL.fail, this.#correlation, faultToWire(fault)]);
  }

  item(value: unknown): void {
    if (!this.#isDone) this.#link.send([MAIL.item, this.#correlation, value]);
  }

  end(): void {
    if (this.#finish()) this.#link.send([MAIL.end, this.#correlation]);
  }

  onAbandoned(hook: () => void): void {
    this.#abandoned = hook;
    if (this.#isDone) hook();
  }

  onGranted(hook: (credit: number) => void): void {
    this.#granted = hook;
    if (this.#creditEarly > 0) hook(this.#creditEarly);
    this.#creditEarly = 0;
  }

  grant(credit: number): void {
    if (this.#granted === null) this.#creditEarly += credit;
    else this.#granted(credit);
  }

  /** The other side gave up or is gone. */
  abandon(): void {
    if (!this.#finish()) return;
    this.#abandoned?.();
  }

  #finish(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.#link.answered(this.#correlation);
    return true;
  }
}
