// Steering: messages that a user sends into a running turn, between their acceptance and the boundary that folds them in.
// E1 A steer that was accepted is folded in: the turn closes this in the same breath in which it finds none waiting.

import { runFaults, STEERS_PENDING_MAX, STEERS_PER_TURN_MAX, type Steer } from './protocol.ts';

export class Steering {
  #pending: Steer[];
  #acceptedCount: number;
  #isClosed = false;

  /** `accepted`: what was sent into the turn before it began. `foldedCount`: what an earlier life of it has folded in. */
  constructor(accepted: readonly Steer[] = [], foldedCount = 0) {
    this.#pending = [...accepted];
    this.#acceptedCount = accepted.length + foldedCount;
  }

  /** @throws run_not_active, steers_full */
  accept(steer: Steer): void {
    if (this.#isClosed) throw runFaults.run_not_active('The run is not active');
    if (this.#pending.length >= STEERS_PENDING_MAX) {
      throw runFaults.steers_full(`${STEERS_PENDING_MAX} messages are waiting to be folded in already`);
    }
    if (this.#acceptedCount >= STEERS_PER_TURN_MAX) {
      throw runFaults.steers_full(
        `This turn has been steered ${STEERS_PER_TURN_MAX} times: send the next message after it`,
      );
    }
    this.#acceptedCount += 1;
    this.#pending.push(steer);
  }

  /** Takes back what was accepted and could not be kept. */
  drop(id: string): void {
    this.#pending = this.#pending.filter((steer) => steer.id !== id);
    this.#acceptedCount -= 1;
  }

  /** What has gathered since the last boundary. */
  take(): readonly Steer[] {
    const taken = this.#pending;
    this.#pending = [];
    return taken;
  }

  /** The turn is over, however. */
  close(): void {
    this.#isClosed = true;
  }
}
