// Link: this thread's end of the channel to one other thread.
// I1 What is sent in one turn goes out in batches of up to BATCH_MESSAGES_MAX (postMessage costs as much for 64 messages as for
//    one), so that the other thread reads the first while this one still writes the next.
// I2 At most CREDIT_WINDOW messages are on the wire; further ones wait here, up to HELD_MAX, then they are rejected. Credit
//    comes back when the other thread has put a message into its actor's mailbox, whose own bound takes over there: a slow
//    actor fills its mailbox, not the link that it shares with others. Much of it comes back turn by turn: a thread reads
//    before it handles, so all that is held back would be read at once, and overflow the mailbox of an actor that is quick
//    enough for it. Signals, replies and stream items are not held: they answer what was asked for.
// I3 When the other thread is lost, every ask to it fails, everything it asked for is aborted, what it had not settled is
//    dead-lettered, once.
// I4 A frame that cannot be cloned is refused by itself; the others of its batch go out.
// I5 What could be written and cannot be read (nested deeper than this thread's stack allows) is lost with all of its batch, and
//    nobody knows what that was: answers, credit, signals. The thread that sent it is ended, as if it had crashed. Who lets such
//    data in bounds it there; this is what remains when somebody has not.

import { faultFromWire, faultToWire } from '../../std/errors.ts';
import type { Asker, Envelope, MailOrigin, StreamAsker } from '../envelope.ts';
import { kernelFaults } from '../faults.ts';
import { Mailbox } from '../mailbox.ts';
import type { Address } from '../protocol.ts';
import type { Runtime } from '../runtime.ts';
import { RemoteAsker } from './remote-asker.ts';
import { type Batch, MAIL, type MailFrame, type Port, portsOf, type SignalFrame, singly } from './wire.ts';

const BATCH_MESSAGES_MAX = 512;
const CREDIT_WINDOW = 8_192;
const HELD_MAX = 65_536;
/** Less credit than this goes back with the next batch; this much does not wait for one, and goes back turn by turn. */
const CREDIT_RETURN_AT = CREDIT_WINDOW / 4;

/** Mail, or the order to drain an actor, which goes behind the mail that it got before. */
type Held = { readonly address: Address; readonly envelope: Envelope } | { readonly drained: number };

export class Link implements MailOrigin {
  readonly thread: number;
  readonly #runtime: Runtime;
  readonly #onSignal: (frame: SignalFrame, link: Link) => void;
  readonly #onUnreadable: (link: Link) => void;
  /** Null until the threads have been introduced to each other: frames gather meanwhile, mail as far as the credit goes. */
  #port: Port | null;
  #signals: SignalFrame[] = [];
  #mail: MailFrame[] = [];
  /** Of the next batch. */
  #mailLength = 0;
  #isFlushing = false;
  #isLost = false;
  /** Ours that the other thread has not received, and not settled yet. */
  #onWire = 0;
  #unsettled = 0;
  /** Theirs: received and settled here, but not reported yet. */
  #toAcknowledge = 0;
  #toSettle = 0;
  /** Of much credit, what may go back in this turn. */
  #creditOfTurn = 0;
  #isReturningCredit = false;
  /** In all, of ours settled there and of theirs received here. */
  #settledThere = 0;
  #receivedFromThere = 0;
  readonly #held = new Mailbox<Held>({ lengthMax: HELD_MAX, whenFull: 'reject' });
  #drainsHeld = 0;
  #correlationNext = 1;
  /** Our questions to the other thread. */
  readonly #asked = new Map<number, Asker | StreamAsker>();
  /** The other thread's questions to us. */
  readonly #answering = new Map<number, RemoteAsker>();

  constructor(
    thread: number,
    port: Port | null,
    runtime: Runtime,
    onSignal: (frame: SignalFrame, link: Link) => void,
    onUnreadable: (link: Link) => void,
  ) {
    this.thread = thread;
    this.#port = null;
    this.#runtime = runtime;
    this.#onSignal = onSignal;
    this.#onUnreadable = onUnreadable;
    if (port !== null) this.connect(port);
  }

  get heldLength(): number {
    return this.#held.length - this.#drainsHeld;
  }

  connect(port: Port): void {
    this.#port = port;
    port.on('message', (batch) => this.#receive(batch));
    port.on('messageerror', () => {
      if (!this.#isLost) this.#onUnreadable(this); // I5
    });
    this.#flushSoon();
  }

  /** Takes an envelope for an actor over there (see Target.post). */
  post(address: Address, envelope: Envelope): boolean {
    this.#runtime.counters.sent += 1;
    if (this.#isLost) {
      this.#runtime.refuse(address.path, envelope, 'thread_lost');
      return false;
    }
    // What waits goes first, or the order of mail would be lost.
    if (this.#onWire < CREDIT_WINDOW && this.#held.length === 0) {
      this.#dispatch(address, envelope);
      return true;
    }
    if (this.#held.isFull) {
      this.#runtime.refuse(address.path, envelope, 'link_full');
      return false;
    }
    this.#held.push({ address, envelope });
    return true;
  }

  drain(actor: number): void {
    if (this.#held.length === 0) {
      this.send([MAIL.drain, actor]);
      return;
    }
    this.#held.push({ drained: actor });
    this.#drainsHeld += 1;
  }

  signal(frame: SignalFrame): void {
    if (this.#isLost) return;
    this.#signals.push(frame);
    this.#flushSoon();
  }

  /** MailOrigin: a message from over there has left its mailbox here. Told with the next batch, or at the next heartbeat. */
  settled(): void {
    this.#toSettle += 1;
  }

  send(frame: MailFrame): void {
    if (this.#isLost) return;
    this.#mail.push(frame);
    this.#mailAdded();
  }

  /** The answer to correlation `correlation` has gone out. */
  answered(correlation: number): void {
    this.#answering.delete(correlation);
  }

  flush(): void {
    this.#isFlushing = false;
    if (this.#isLost || this.#port === null) return;
    const hasFrames = this.#signals.length > 0 || this.#mail.length > 0;
    if (!hasFrames && this.#toAcknowledge === 0 && this.#toSettle === 0) return;
    const isMuch = this.#toAcknowledge >= CREDIT_RETURN_AT;
    const batch: Batch = {
      received: isMuch ? this.#creditOfTurn : this.#toAcknowledge,
      settled: this.#toSettle,
      signals: this.#signals,
      mail: this.#mail,
    };
    this.#toAcknowledge -= batch.received;
    this.#creditOfTurn = 0;
    this.#toSettle = 0;
    this.#signals = [];
    this.#mail = [];
    this.#mailLength = 0;
    try {
      this.#port.postMessage(batch, batch.signals.flatMap(portsOf));
    } catch {
      this.#postSingly(batch, this.#port);
    }
  }

  /** Takes what the other thread sent before it ended; called when it has. */
  receiveLast(receive: (port: Port) => Batch | undefined): void {
    if (this.#isLost || this.#port === null) return;
    for (;;) {
      const batch = receive(this.#port);
      if (batch === undefined) return;
      this.#receive(batch);
    }
  }

  /** I3. */
  lose(message: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#port?.close();
    this.#signals = [];
    this.#mail = [];
    // What is owed can be given back no more; it would be tried again turn by turn, for ever.
    this.#toAcknowledge = 0;
    const fault = kernelFaults.actor_terminated(message);
    const asked = [...this.#asked.values()];
    this.#asked.clear();
    for (const asker of asked) asker.fail(fault);
    for (const asker of [...this.#answering.values()]) asker.abandon();
    // What became of the unsettled is not known, so they count as lost.
    this.#runtime.counters.deadLettered += this.#unsettled;
    // The lost thread's own counters went with it; its share in the sums is kept here.
    this.#runtime.counters.handled += this.#settledThere;
    this.#runtime.counters.sent += this.#receivedFromThere;
    for (const held of this.#held.drain()) {
      if ('envelope' in held) this.#runtime.refuse(held.address.path, held.envelope, 'thread_lost');
    }
    this.#drainsHeld = 0;
  }

  #dispatch(address: Address, envelope: Envelope): void {
    this.#onWire += 1;
    this.#unsettled += 1;
    const { actor, path } = address;
    const { name, message } = envelope;
    if (envelope.kind === 'tell') {
      const last = this.#mail.at(-1);
      if (last?.[0] === MAIL.tell && last[1] === actor && last[3] === name) {
        last[4].push(message);
        this.#mailAdded();
      } else this.send([MAIL.tell, actor, path, name, [message]]);
      return;
    }
    const correlation = this.#correlationNext;
    this.#correlationNext += 1;
    const { asker } = envelope;
    this.#asked.set(correlation, asker);
    this.send([envelope.kind === 'call' ? MAIL.call : MAIL.stream, actor, path, name, message, correlation]);
    if (envelope.kind === 'stream') {
      envelope.asker.onGranted((credit) => this.send([MAIL.grant, correlation, credit]));
    }
    asker.onAbandoned(() => {
      if (this.#asked.delete(correlation)) this.send([MAIL.abandon, correlation]);
    });
  }

  #dispatchHeld(): void {
    while (this.#held.length > 0 && this.#onWire < CREDIT_WINDOW) {
      const held = this.#held.shift();
      if (held === undefined) return;
      if ('envelope' in held) this.#dispatch(held.address, held.envelope);
      else {
        this.#drainsHeld -= 1;
        this.send([MAIL.drain, held.drained]);
      }
    }
  }

  /** I1. Until the threads are introduced all of it waits for the port. */
  #mailAdded(): void {
    this.#mailLength += 1;
    if (this.#mailLength >= BATCH_MESSAGES_MAX && this.#port !== null) this.flush();
    else this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // After the microtasks that are queued now: the rest of a drain joins this batch (I1).
    queueMicrotask(() => this.flush());
  }

  #receive(batch: Batch): void {
    if (this.#isLost) return;
    this.#onWire -= batch.received;
    this.#unsettled -= batch.settled;
    this.#settledThere += batch.settled;
    this.#dispatchHeld();
    for (const frame of batch.signals) this.#onSignal(frame, this);
    for (const frame of batch.mail) this.#take(frame);
    if (this.#toAcknowledge >= CREDIT_RETURN_AT) this.#returnCredit();
  }

  /** I2. One batch a turn, of which the scheduler handles half: all that a link can hold back fits into a mailbox meanwhile. */
  #returnCredit(): void {
    if (this.#isReturningCredit) return;
    this.#isReturningCredit = true;
    void this.#runtime.scheduler.turn().then(() => {
      this.#isReturningCredit = false;
      this.#creditOfTurn = BATCH_MESSAGES_MAX;
      this.flush();
      if (this.#toAcknowledge >= CREDIT_RETURN_AT) this.#returnCredit();
    });
  }

  #take(frame: MailFrame): void {
    switch (frame[0]) {
      case MAIL.tell:
        for (const message of frame[4])
          this.#deliver(frame[1], frame[2], { kind: 'tell', name: frame[3], message, origin: this });
        return;
      case MAIL.call: {
        const asker = this.#answer(frame[5]);
        this.#deliver(frame[1], frame[2], {
          kind: 'call',
          name: frame[3],
          message: frame[4],
          origin: this,
          asker,
        });
        return;
      }
      case MAIL.stream: {
        const asker = this.#answer(frame[5]);
        this.#deliver(frame[1], frame[2], {
          kind: 'stream',
          name: frame[3],
          message: frame[4],
          origin: this,
          asker,
        });
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
      case MAIL.drain:
        this.#runtime.cells.get(frame[1])?.drain();
        return;
      case MAIL.abandon:
        this.#answering.get(frame[1])?.abandon();
        return;
    }
  }

  #deliver(actor: number, path: string, envelope: Envelope): void {
    this.#toAcknowledge += 1;
    this.#receivedFromThere += 1;
    const cell = this.#runtime.cellFor(actor);
    if (cell === undefined) {
      this.#runtime.refuse(path, envelope, 'terminated');
      return;
    }
    // Counted as sent where it was sent; here only what comes of it.
    this.#runtime.counters.sent -= 1;
    cell.post(envelope);
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

  /** I4. */
  #postSingly(batch: Batch, port: Port): void {
    port.postMessage({ ...batch, signals: [], mail: [] });
    for (const frame of batch.signals) {
      try {
        port.postMessage({ received: 0, settled: 0, signals: [frame], mail: [] }, portsOf(frame));
      } catch {
        this.#refuseSignal(frame);
      }
    }
    for (const frame of batch.mail.flatMap(singly)) {
      try {
        port.postMessage({ received: 0, settled: 0, signals: [], mail: [frame] });
      } catch {
        this.#refuseMail(frame);
      }
    }
    // What was refused has left the wire without an answer that would say so.
    this.#dispatchHeld();
  }

  #refuseSignal(frame: SignalFrame): void {
    if (frame.kind !== 'spawn') throw new Error(`a signal could not be cloned: ${frame.kind}`);
    // Answered in the other thread's stead: the child has ended before it began.
    const { actor, path } = frame.order;
    const message = `the arguments of ${path} are not plain data and cannot cross threads`;
    this.#onSignal({ kind: 'child_ended', actor, reason: { kind: 'crashed', message } }, this);
  }

  #refuseMail(frame: MailFrame): void {
    switch (frame[0]) {
      case MAIL.tell:
      case MAIL.call:
      case MAIL.stream: {
        this.#onWire -= 1;
        this.#unsettled -= 1;
        const [kind, , path, name] = frame;
        const asker = kind === MAIL.tell ? undefined : this.#settle(frame[5]);
        const refused = { name, message: null, origin: null };
        const envelope: Envelope =
          asker === undefined ? { ...refused, kind: 'tell' } : { ...refused, kind: 'call', asker };
        this.#runtime.refuse(path, envelope, 'not_plain');
        return;
      }
      case MAIL.reply:
      case MAIL.item:
      case MAIL.fail: {
        const fault = kernelFaults.message_refused(
          'an answer was not plain data and could not cross threads',
        );
        this.#answering.get(frame[1])?.abandon();
        this.send([MAIL.fail, frame[1], faultToWire(fault)]);
        return;
      }
      default:
        throw new Error(`a frame could not be cloned: ${frame[0]}`);
    }
  }
}
