// Dead letters: mail that reached nobody. The newest are kept to look at, all are counted (nothing is lost silently).

export type Refusal =
  | 'terminated' // the target had ended, or ended before it came to the message
  | 'unknown_name'
  | 'mailbox_full' // rejected at the door
  | 'dropped_oldest' // made room for a newer one
  | 'link_full'
  | 'thread_lost' // on its way to a thread that died
  | 'not_plain' // could not cross to another thread
  | 'routee_down' // a router had nobody for it
  | 'not_activated' // a resident's setup failed, or it ended without having handled anything
  | 'not_understood'; // the target has no handler for it

export interface DeadLetter {
  readonly atMs: number;
  readonly target: string;
  readonly message: string;
  readonly refusal: Refusal;
}

/** Rejections are the mailbox's answer to a sender; everything else is a dead letter. */
export function isRejection(refusal: Refusal): boolean {
  return refusal === 'mailbox_full' || refusal === 'link_full';
}

const KEPT_MAX = 256;

export class DeadLetters {
  #kept: DeadLetter[] = [];
  readonly #listeners = new Set<(letter: DeadLetter) => void>();

  add(letter: DeadLetter): void {
    this.#kept.push(letter);
    if (this.#kept.length > KEPT_MAX * 2) this.#kept = this.#kept.slice(-KEPT_MAX);
    for (const listener of this.#listeners) listener(letter);
  }

  /** The newest, oldest first. */
  recent(): readonly DeadLetter[] {
    return this.#kept.slice(-KEPT_MAX);
  }

  onLetter(listener: (letter: DeadLetter) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
