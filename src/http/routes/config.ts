// Routes of the settings.

import { config } from '../../actors/config/protocol.ts';
import { bind } from '../route.ts';

export const configRoutes = [
  bind('GET', '/api/config', config, 'view'),
  bind('POST', '/api/config/update', config, 'update'),
];
