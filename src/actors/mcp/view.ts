// View: a server as clients see it. Pure.

import type { McpCatalogue, McpSessionState } from '../mcp-sessions/protocol.ts';
import type { Server, ServerConfig, ServerStatus } from './protocol.ts';
import type { SessionView } from './sessions.ts';

export interface ServerFacts {
  readonly name: string;
  readonly config: ServerConfig;
  readonly session: SessionView | undefined;
  /** What its last connect came to, when that has left no session. */
  readonly failure: string | null;
  readonly authState: Server['auth_state'];
}

export function serverView({ name, config, session, failure, authState }: ServerFacts): Server {
  const catalogue = session !== undefined && isUp(session) ? session.catalogue : null;
  return {
    name,
    ...config,
    status: statusOf(session?.state, failure),
    error: errorOf(session?.state, failure),
    tools: catalogue?.tools.map((tool) => tool.name) ?? [],
    tools_count: catalogue?.tools.length ?? 0,
    resources_count: catalogue?.resources.length ?? 0,
    tool_discovery_error: catalogue?.tool_discovery_error ?? null,
    resource_discovery_error: catalogue?.resource_discovery_error ?? null,
    auth_state: authState,
  };
}

/** Connected as far as anybody can tell: one that rests for want of calls is woken up by the next one. */
export function isUp({ state }: SessionView): boolean {
  return state.kind === 'connected' || state.kind === 'idle';
}

/** Its tools can be called: while it is being reconnected a call waits for that. */
export function isCallable(
  session: SessionView,
): session is SessionView & { readonly catalogue: McpCatalogue } {
  return session.catalogue !== null && (isUp(session) || session.state.kind === 'reconnecting');
}

function statusOf(state: McpSessionState | undefined, failure: string | null): ServerStatus {
  if (state === undefined) return failure === null ? 'disconnected' : 'error';
  switch (state.kind) {
    case 'connected':
    case 'idle':
      return 'connected';
    case 'auth_required':
      return 'auth_required';
    case 'error':
      return 'error';
    case 'connecting':
    case 'reconnecting':
      return 'disconnected';
  }
}

function errorOf(state: McpSessionState | undefined, failure: string | null): string | null {
  if (state === undefined) return failure;
  return state.kind === 'error' || state.kind === 'reconnecting' ? state.error : null;
}
