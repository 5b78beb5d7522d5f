// Routes of the providers of models.

import { providers } from '../../actors/providers/protocol.ts';
import { bind } from '../route.ts';

export const providerRoutes = [
  bind('GET', '/api/providers', providers, 'list'),
  bind('GET', '/api/providers/models', providers, 'models'),
  // Asks every provider, each of which has its own patience: longer than an ordinary ask.
  bind('GET', '/api/providers/health', providers, 'health', { deadlineMs: 30_000 }),
  bind('GET', '/api/providers/catalog', providers, 'catalog'),
  // Looks a name up.
  bind('POST', '/api/providers/custom', providers, 'register', { deadlineMs: 15_000 }),
  bind('DELETE', '/api/providers/custom/{id}', providers, 'unregister'),
  bind('POST', '/api/providers/test', providers, 'test', { deadlineMs: 20_000 }),
  bind('GET', '/api/providers/route', providers, 'route', { deadlineMs: 15_000 }),
];
