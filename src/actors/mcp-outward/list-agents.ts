// ListAgents: who may be asked. As long as there are no profiles, that is the one agent that every turn has.

import { Type } from '../../std/schema.ts';
import { runs } from '../runs/protocol.ts';
import { defineOutwardTool } from './outward-tool.ts';

/** What `run_agent` calls it. */
export const AGENT_DEFAULT = 'default';

const Agent = Type.Object({
  id: Type.String({ description: 'What run_agent takes as `agent`.' }),
  name: Type.String(),
  default_model: Type.String(),
  tools: Type.Array(Type.String()),
});

export const listAgentsTool = defineOutwardTool({
  name: 'list_agents',
  title: 'List agents',
  description: 'Lists the agents of this Troupe service that run_agent can be given a message for.',
  isReadOnly: true,
  parameters: Type.Object({}),
  result: Type.Object({ agents: Type.Array(Agent) }),
  async run(_args, context) {
    const { name, tools_available, config } = await context.ask(runs, 'agent_status', {});
    const agents = [{ id: AGENT_DEFAULT, name, default_model: config.default_model, tools: tools_available }];
    return { texts: [JSON.stringify({ agents })], structured: { agents }, isError: false };
  },
});
