// RunAgent: gives a message to an agent, as a detached run like any other: it is in the list of runs, its turn is in the
// conversation's transcript, and it outlives the call, the connection and the process.
// G1 The client's cancel cancels the run, or leaves it alone, as `on_cancel` says. A client that only went away has not
//    cancelled. A run that the message was folded into is whoever's began it, and goes on.
// G2 A call that has waited long enough answers with what it knows: the run's id, under which read_run finds its result.

import { Type } from '../../std/schema.ts';
import { CONVERSATION_ID_LENGTH_MAX } from '../conversations/protocol.ts';
import { runs } from '../runs/protocol.ts';
import { AGENT_DEFAULT } from './list-agents.ts';
import { defineOutwardTool, type OutwardContext } from './outward-tool.ts';
import { mcpOutwardFaults, WAIT_MAX_SECONDS } from './protocol.ts';
import { reportProgress } from './run-progress.ts';
import { awaitRun, RunResult } from './run-result.ts';

const WAIT_DEFAULT_SECONDS = 600;
const MESSAGE_LENGTH_MAX = 1_000_000;

export const runAgentTool = defineOutwardTool({
  name: 'run_agent',
  title: 'Run an agent',
  description:
    'Gives a message to an agent of this Troupe service and answers with its reply. The agent works with its own model, ' +
    'tools and conversation. Pass the conversation_id of an earlier answer to go on where it left off.',
  isReadOnly: false,
  reachesOut: true,
  parameters: Type.Object({
    message: Type.String({ minLength: 1, maxLength: MESSAGE_LENGTH_MAX }),
    agent: Type.String({
      default: AGENT_DEFAULT,
      maxLength: 200,
      description: 'The id of an agent, from list_agents.',
    }),
    conversation_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: CONVERSATION_ID_LENGTH_MAX,
        description: 'A new conversation without it.',
      }),
    ),
    model: Type.Optional(
      Type.String({ maxLength: 200, description: "`provider:model`; the agent's own without it." }),
    ),
    wait_seconds: Type.Integer({
      default: WAIT_DEFAULT_SECONDS,
      minimum: 0,
      maximum: WAIT_MAX_SECONDS,
      description: 'How long to wait for the reply. The run goes on after that; read_run has its result.',
    }),
    on_cancel: Type.Unsafe<'cancel' | 'detach'>(
      Type.String({
        enum: ['cancel', 'detach'],
        default: 'cancel',
        description: 'What becomes of the run when this call is cancelled.',
      }),
    ),
  }),
  result: RunResult,
  async run({ message, agent, conversation_id, model, wait_seconds, on_cancel }, context) {
    if (agent !== AGENT_DEFAULT) {
      throw mcpOutwardFaults.agent_unknown(`There is no agent ${agent}: list_agents says which there are`);
    }
    const conversationId = conversation_id ?? context.random.uuid();
    const { run_id, after, is_joined } = await context.ask(runs, 'start', {
      user_id: context.userId,
      message,
      session_id: conversationId,
      ...(model === undefined ? {} : { model }),
    });
    if (on_cancel === 'cancel' && !is_joined) context.whenCancelled(() => cancelRun(context, run_id)); // G1
    const over = new AbortController();
    try {
      if (context.progress !== null) {
        const signal = AbortSignal.any([over.signal, context.signal]);
        context.aside(reportProgress(context, { run_id, after }, signal));
      }
      return await awaitRun(context, run_id, conversationId, wait_seconds); // G2
    } finally {
      over.abort();
    }
  },
});

function cancelRun({ ask, aside, userId }: OutwardContext, run_id: string): void {
  aside(ask(runs, 'cancel', { run_id, user_id: userId }));
}
