// Routes of the service itself: what every client asks first.

import { service } from '../../actors/service/protocol.ts';
import { bind } from '../route.ts';

export const serviceRoutes = [
  bind('GET', '/api/index', service, 'index'),
  bind('GET', '/api/version', service, 'version'),
  bind('GET', '/api/health', service, 'health'),
];
