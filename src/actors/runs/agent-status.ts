// AgentStatus: what GET /api/agent/status tells. The last status stays until the next task starts.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { ReplyFrom } from '../../supervisor/protocol.ts';
import { config } from '../config/protocol.ts';
import { tools } from '../tools/protocol.ts';
import { AGENT_NAME_DEFAULT, type runs } from './protocol.ts';

export interface AgentActivity {
  readonly status: 'idle' | 'executing' | 'complete' | 'failed' | 'cancelled';
  readonly task: string | null;
}

const MODEL_DEFAULT = 'lmstudio:llama3.2';

export async function agentStatus(
  context: ActorContext,
  activity: AgentActivity,
  sessionCount: number,
): Promise<ReplyFrom<typeof runs, 'agent_status'>> {
  const [settings, offered] = await Promise.all([
    context.ask(config, 'settings', {}),
    context.ask(tools, 'list', { durable: true }),
  ]);
  return {
    name: AGENT_NAME_DEFAULT,
    status: activity.status,
    current_task: activity.task,
    tools_available: offered.tools.map(({ name, label }) => label ?? name),
    config: {
      default_model: settings['preferences.default_model'] ?? MODEL_DEFAULT,
      enable_planning: true,
      enable_reasoning: true,
      enable_drafting: false,
      enable_memory: settings['preferences.enable_memory_by_default'],
      enable_tools: true,
    },
    active_sessions: sessionCount,
  };
}
