// SteerRun: hands a message to the turn that shall fold it in, wherever that is.

import type { Desk } from './desk.ts';
import type { LiveRun } from './directory.ts';
import { runFaults, runHost } from './protocol.ts';

const STEER_ID_DIGITS = 16;

/** Resolves when the steer is journaled. @throws run_not_active, steers_full, or what storage refused */
export async function steerRun(
  { context, directory }: Desk,
  { runId, where }: LiveRun,
  message: string,
): Promise<void> {
  const id = context.random.hex(STEER_ID_DIGITS);
  if (directory.isSettling(runId)) throw runFaults.run_not_active('The run is not active');
  switch (where.at) {
    case 'desk':
      return where.prelude.steer({ id, message, atMs: context.clock.nowMs() });
    case 'host':
      return context.refTo(runHost, where.host).ask('steer', { run_id: runId, steer_id: id, message });
  }
}
