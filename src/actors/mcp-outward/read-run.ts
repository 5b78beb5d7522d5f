// ReadRun: the result of a run again, by its id: after a call that did not wait for it, or lost its connection.

import { Type } from '../../std/schema.ts';
import { defineOutwardTool } from './outward-tool.ts';
import { WAIT_MAX_SECONDS } from './protocol.ts';
import { awaitRun, RunResult } from './run-result.ts';

export const readRunTool = defineOutwardTool({
  name: 'read_run',
  title: 'Read a run',
  description:
    'Answers with the result of a run that run_agent began, or says that it is still running. Results are kept for two ' +
    "hours; the conversation's transcript is kept longer.",
  isReadOnly: true,
  parameters: Type.Object({
    run_id: Type.String({ minLength: 1, maxLength: 100 }),
    wait_seconds: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: WAIT_MAX_SECONDS,
      description: 'How long to wait for a run that is still running.',
    }),
  }),
  result: RunResult,
  run: ({ run_id, wait_seconds }, context) => awaitRun(context, run_id, null, wait_seconds),
});
