// CancelRun: ends a run that goes on by itself; what it has written so far is kept.

import { Type } from '../../std/schema.ts';
import { runFaults, runs } from '../runs/protocol.ts';
import { defineOutwardTool } from './outward-tool.ts';

export const cancelRunTool = defineOutwardTool({
  name: 'cancel_run',
  title: 'Cancel a run',
  description: 'Cancels a run that run_agent began. What it has written so far is kept in its conversation.',
  isReadOnly: false,
  isDestructive: true,
  isIdempotent: true,
  parameters: Type.Object({ run_id: Type.String({ minLength: 1, maxLength: 100 }) }),
  result: Type.Object({ run_id: Type.String(), cancel_requested: Type.Boolean(), status: Type.String() }),
  async run({ run_id }, { ask, userId }) {
    const { cancel_requested, status } = await ask(runs, 'cancel', { run_id, user_id: userId });
    if (status === null) throw runFaults.run_not_found('Unknown run');
    const structured = { run_id, cancel_requested, status };
    return { texts: [JSON.stringify(structured)], structured, isError: false };
  },
});
