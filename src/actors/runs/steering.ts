// Steering: messages that a user sends into a running turn, between their acceptance and the boundary that folds them in.
// E1 A steer that was accepted is folded in: the turn closes this in the same breath in which it finds none waiting.

import { runFaults, STEERS_PENDING_MAX, STEERS_PER_TURN_MAX } from './protocol.ts';

export interface Steer {
  readonly id: string;
  readonly message: string;
  readonly atMs: number;
}

export class Steering {
  #pending: Steer[] = [];
  #acceptedCount = 0;
  #isClosed = false;

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
