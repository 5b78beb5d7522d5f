// The route table: every route of the API, one file a noun. A new noun is one line here.

import type { Binding } from '../route.ts';
import { aggregatorRoutes } from './aggregator.ts';
import { chatCompletionRoutes } from './chat-completions.ts';
import { configRoutes } from './config.ts';
import { conversationRoutes } from './conversations.ts';
import { jobRoutes } from './jobs.ts';
import { mcpRoutes } from './mcp.ts';
import { mcpAuthRoutes } from './mcp-auth.ts';
import { providerRoutes } from './providers.ts';
import { runRoutes } from './runs.ts';
import { runtimeRoutes } from './runtime.ts';
import { serviceRoutes } from './service.ts';
import { toolOutputRoutes } from './tool-outputs.ts';
import { usageRoutes } from './usage.ts';
import { workspaceRoutes } from './workspaces.ts';

export const routeTable: readonly Binding[] = [
  ...serviceRoutes,
  ...runRoutes,
  ...jobRoutes,
  ...conversationRoutes,
  ...workspaceRoutes,
  ...toolOutputRoutes,
  ...mcpRoutes,
  ...providerRoutes,
  ...aggregatorRoutes,
  ...chatCompletionRoutes,
  ...mcpAuthRoutes,
  ...configRoutes,
  ...usageRoutes,
  ...runtimeRoutes,
];
