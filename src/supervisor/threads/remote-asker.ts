// RemoteAsker: stands in for an asker on the other thread of a link.
// G1 It is answered once, and forgotten by its link then (V1).

import { type Fault, faultToWire } from '../../std/errors.ts';
import type { StreamAsker } from '../envelope.ts';
import { MAIL, type MailFrame } from './wire.ts';

/** What it needs of its link. */
interface AnswerWay {
  send(frame: MailFrame): void;
  answered(correlation: number): void;
}

export class RemoteAsker implements StreamAsker {
  readonly #way: AnswerWay;
  readonly #correlation: number;
  #abandoned: (() => void) | null = null;
  #granted: ((credit: number) => void) | null = null;
  /** Granted before the handler listened. */
  #creditEarly = 0;
  #isDone = false;

  constructor(way: AnswerWay, correlation: number) {
    this.#way = way;
    this.#correlation = correlation;
  }

  reply(value: unknown): void {
    if (this.#finish()) this.#way.send([MAIL.reply, this.#correlation, value]);
  }

  fail(fault: Fault): void {
    if (this.#finish()) this.#way.send([MAIL.fail, this.#correlation, faultToWire(fault)]);
  }

  item(value: unknown): void {
    if (!this.#isDone) this.#way.send([MAIL.item, this.#correlation, value]);
  }

  end(): void {
    if (this.#finish()) this.#way.send([MAIL.end, this.#correlation]);
  }

  onAbandoned(hook: () => void): void {
    if (this.#isDone) hook();
    else this.#abandoned = hook;
  }

  onGranted(hook: (credit: number) => void): void {
    if (this.#isDone) return;
    this.#granted = hook;
    if (this.#creditEarly > 0) hook(this.#creditEarly);
    this.#creditEarly = 0;
  }

  grant(credit: number): void {
    if (this.#granted === null) this.#creditEarly += credit;
    else this.#granted(credit);
  }

  /** The other side gave up, is gone, or got something that it could not take. */
  abandon(): void {
    const hook = this.#abandoned;
    if (this.#finish()) hook?.();
  }

  #finish(): boolean {
    if (this.#isDone) return false;
    this.#isDone = true;
    this.#abandoned = null;
    this.#granted = null;
    this.#way.answered(this.#correlation);
    return true;
  }
}
