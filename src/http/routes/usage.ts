// Routes of what turns used.

import { usage } from '../../actors/usage/protocol.ts';
import { bind } from '../route.ts';

export const usageRoutes = [bind('GET', '/api/metrics/usage', usage, 'report')];
