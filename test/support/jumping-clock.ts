// A clock that is moved by hand, and whose wall time can be set as an operator or a time server sets it.

import { ManualClock } from '../../src/supervisor/testkit/index.ts';

export class JumpingClock extends ManualClock {
  #shiftMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.#shiftMs;
  }

  /** Wall time jumps, forwards or backwards; timers and durations do not notice. */
  jump(byMs: number): void {
    this.#shiftMs += byMs;
  }
}
