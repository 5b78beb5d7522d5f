// Routes of the settings.

import { config } from '../../actors/config/protocol.ts';
import { bind } from '../route.ts';

export const configRoutes = [
  bind('GET', '/api/config', config, 'view'),
  bind('POST', '/api/config/update', config, 'update'),
  bind('GET', '/api/settings/manifest', config, 'manifest'),
  bind('GET', '/api/models/roles', config, 'roles'),
  bind('POST', '/api/models/roles/adopt', config, 'adoptRoles'),
  bind('GET', '/api/config/context-limits', config, 'contextLimits'),
  bind('POST', '/api/config/context-limits', config, 'updateContextLimits'),
];
