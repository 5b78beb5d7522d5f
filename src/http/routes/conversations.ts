// Routes of conversations. Two roots, as the wire format has them: reading under one, changing under /api/memory.

import { conversations } from '../../actors/conversations/protocol.ts';
import { bind } from '../route.ts';

export const conversationRoutes = [
  bind('GET', '/api/conversations', conversations, 'list'),
  bind('GET', '/api/conversations/{conversation_id}/messages', conversations, 'messages'),
  bind('GET', '/api/conversations/{conversation_id}/state', conversations, 'state'),
  bind('PATCH', '/api/conversations/{conversation_id}/state', conversations, 'set_state'),
  bind('PATCH', '/api/memory/conversations/{conversation_id}/meta', conversations, 'update_meta'),
  bind('DELETE', '/api/memory/conversations/{conversation_id}', conversations, 'remove'),
  bind('GET', '/api/memory/checkpoints', conversations, 'checkpoints'),
  bind('DELETE', '/api/memory/checkpoints', conversations, 'clear_checkpoints'),
];
