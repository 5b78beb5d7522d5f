// Retirement: how a worker thread that nears its heap limit is left, as seen from the thread itself.
// G1 Who asked to hear of it is told first (ActorContext.onRetire), so that nobody sends new work here.
// G2 A child whose parent lives elsewhere is moved by its supervisor: drained here, started again on a fresh thread; but not
//    before the temporary actors below it have ended. Temporary children are not moved: they may finish.
// G3 After the grace nobody is waited for any more: what is temporary is stopped, the rest is moved.

import type { Cell } from '../cell.ts';
import type { Runtime } from '../runtime.ts';

export class Retirement {
  readonly #runtime: Runtime;
  readonly #graceUntilMs: number;
  readonly #vacated: () => void;
  readonly #asked = new Set<Cell>();

  constructor(runtime: Runtime, graceMs: number, vacated: () => void) {
    this.#runtime = runtime;
    this.#graceUntilMs = runtime.clock.monotonicMs() + graceMs;
    this.#vacated = vacated;
    for (const tell of [...runtime.retireHooks]) tell();
    this.step();
  }

  /** Called with each heartbeat: does what has become possible. */
  step(): void {
    const cells = [...this.#runtime.cells.values()];
    const guests = cells.filter(({ parent }) => parent.thread !== this.#runtime.thread);
    if (guests.length === 0) this.#vacated();
    const isOver = this.#runtime.clock.monotonicMs() >= this.#graceUntilMs;
    const temporaries = cells.filter(isTemporary);
    for (const guest of guests) {
      const isAwaited = !isOver && temporaries.some((cell) => cell === guest || isBelow(cell, guest));
      if (!isAwaited && !this.#asked.has(guest)) this.#leave(guest);
    }
  }

  #leave(guest: Cell): void {
    this.#asked.add(guest);
    if (isTemporary(guest)) guest.stop();
    else guest.parent.childRetiring?.(guest.options.id, guest.actor);
  }
}

function isTemporary({ options }: Cell): boolean {
  return options.restart === 'temporary';
}

function isBelow(cell: Cell, above: Cell): boolean {
  return cell.path.startsWith(`${above.path}/`);
}
