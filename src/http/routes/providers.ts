// Routes of the providers of models.

import { providers } from '../../actors/providers/protocol.ts';
import { bind } from '../route.ts';

export const providerRoutes = [
  bind('GET', '/api/providers', providers, 'list'),
  bind('GET', '/api/providers/models', providers, 'models'),
  // Asks every provider, each of which has its own patience: longer than an ordinary ask.
  bind('GET', '/api/providers/health', providers, 'health', { deadlineMs: 30_000 }),
];
