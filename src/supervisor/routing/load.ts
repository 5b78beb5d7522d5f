// Load: what one incarnation of a routee has been given by its router and is not done with.
// W1 A question weighs one until it is answered or given up, a statement until it has left the mailbox.
// W2 Beside the router a statement says itself when it has left. From another thread a mark says it: a question that the
//    kernel answers in its turn, so that all statements before it have left; one mark is on its way at a time.
// W3 A load dies with its incarnation: what comes late for it counts nowhere.

import { CountedAsker, CountedStreamAsker } from '../counted-asker.ts';
import type { Asker, Envelope, MailOrigin } from '../envelope.ts';
import { MARK, passOn } from '../forwarding.ts';
import type { Target } from '../ref.ts';

export class Load implements MailOrigin {
  readonly #target: Target;
  readonly #isHere: boolean;
  #questions = 0;
  #statements = 0;
  #isMarking = false;
  #isClosed = false;

  constructor(target: Target, isHere: boolean) {
    this.#target = target;
    this.#isHere = isHere;
  }

  get weight(): number {
    return this.#questions + this.#statements;
  }

  /** As `Target.post`, on behalf of the routee. */
  post(envelope: Envelope): boolean {
    if (envelope.kind === 'tell') return this.#tell(envelope);
    this.#questions += 1;
    const onDone = (): void => {
      this.#questions -= 1;
    };
    const counted: Envelope =
      envelope.kind === 'call'
        ? { ...envelope, asker: new CountedAsker(envelope.asker, onDone) }
        : { ...envelope, asker: new CountedStreamAsker(envelope.asker, onDone) };
    return passOn(counted, this.#target, this.#isHere, counted.origin);
  }

  /** Nothing more is given to it, a mark neither: it would reach nobody. */
  close(): void {
    this.#isClosed = true;
  }

  /** MailOrigin: a statement that came from this thread has left the mailbox. */
  settled(): void {
    this.#statements -= 1;
  }

  #tell(envelope: Envelope): boolean {
    const { origin } = envelope;
    this.#statements += 1;
    if (this.#isHere) {
      return passOn(envelope, this.#target, true, origin === null ? this : new Both(this, origin));
    }
    const isTaken = passOn(envelope, this.#target, false, null);
    if (isTaken) this.#mark();
    else this.#statements -= 1;
    return isTaken;
  }

  /** W2. */
  #mark(): void {
    if (this.#isMarking || this.#isClosed) return;
    this.#isMarking = true;
    const covered = this.#statements;
    const onPassed = (): void => {
      this.#isMarking = false;
      this.#statements -= covered;
      if (this.#statements > 0) this.#mark();
    };
    // A target that is gone fails the mark, which says as much.
    const asker: Asker = { reply: onPassed, fail: onPassed, onAbandoned: () => undefined };
    this.#target.post({ kind: 'call', name: MARK, message: null, origin: null, asker });
  }
}

class Both implements MailOrigin {
  readonly #one: MailOrigin;
  readonly #other: MailOrigin;

  constructor(one: MailOrigin, other: MailOrigin) {
    this.#one = one;
    this.#other = other;
  }

  settled(): void {
    this.#one.settled();
    this.#other.settled();
  }
}
