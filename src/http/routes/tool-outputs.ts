// Routes of stored tool outputs.

import { toolOutputs } from '../../actors/tool-outputs/protocol.ts';
import { bind } from '../route.ts';

export const toolOutputRoutes = [
  bind('GET', '/api/tool-outputs', toolOutputs, 'list'),
  bind('GET', '/api/tool-outputs/{storage_key}', toolOutputs, 'read'),
  bind('DELETE', '/api/tool-outputs/{storage_key}', toolOutputs, 'remove'),
];
