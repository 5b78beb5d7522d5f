// ThreadPriority: work that nobody waits for lets everything else go first, when there are more threads than cores.
// Linux knows a niceness for each thread, and sets that of the thread which asks. Elsewhere it is that of the whole process, which
// stays as it is.

import { platform, setPriority } from 'node:os';

/** As `nice` does: a tenth of the share of a thread that has not stepped back, and all of what nobody else wants. */
const NICENESS = 10;

/** Of the thread that calls; for as long as it lives. */
export function stepBack(): void {
  if (platform() !== 'linux') return;
  try {
    setPriority(NICENESS);
  } catch {
    // A sandbox may forbid it: then it competes as before.
  }
}
