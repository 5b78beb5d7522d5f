// Routes of runs: chat turns and what can be done with them.

import { CHAT_DEADLINE_MS, runs } from '../../actors/runs/protocol.ts';
import { type Binding, bind, bindOpening, bindStream } from '../route.ts';

const tag = 'agent';

export const runRoutes: readonly Binding[] = [
  bind('POST', '/api/agent/chat', runs, 'chat', { tag, deadlineMs: CHAT_DEADLINE_MS }),
  bindOpening('POST', '/api/agent/chat/stream', runs, 'start', {
    tag,
    tail: 'tail',
    follow: ({ run_id, after }, { user_id }) => ({ run_id, after, user_id }),
    // Written here and not journaled: a re-attach does not replay it.
    first: ({ run_id }) => [{ event: 'run_started', data: JSON.stringify({ run_id }) }],
  }),
  bindStream('GET', '/api/agent/chat/stream/attach', runs, 'tail', { tag, cursor: 'after' }),
  bind('GET', '/api/agent/chat/runs', runs, 'list', { tag }),
  bind('POST', '/api/agent/chat/runs/{run_id}/cancel', runs, 'cancel', { tag }),
  bind('POST', '/api/agent/chat/runs/{run_id}/steer', runs, 'steer', { tag }),
  bind('GET', '/api/agent/status', runs, 'agent_status', { tag }),
];
