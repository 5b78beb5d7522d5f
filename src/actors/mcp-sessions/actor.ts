// McpSession actor: one on the thread `mcp` for each server that somebody wants to be connected to.
// A1 It begins to connect in its setup, and answers before that has come to an end.
// A2 Settings are read when a connection is opened and when a call is made, so that a change counts from then on.

import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config, type Settings } from '../config/protocol.ts';
import { Calls, withProgress } from './calls.ts';
import { discovered, EMPTY_CATALOGUE, LISTS } from './catalogue.ts';
import { type Connection, openConnection } from './connection.ts';
import { promptOf, resourceContentsOf, toolResultOf } from './content.ts';
import { connectFault } from './failures.ts';
import { Lifecycle, type Setback } from './lifecycle.ts';
import type { Mask } from './masking.ts';
import {
  type ConnectOutcome,
  type McpCallRequest,
  type McpCatalogue,
  type McpProgress,
  type McpSessionArgs,
  type McpSessionState,
  mcpSession,
  mcpSessionEvents,
  mcpSessionFaults,
} from './protocol.ts';
import { targetOf } from './transports.ts';
import { Upkeep } from './upkeep.ts';

const SECOND_MS = 1_000;

export const mcpSessionActor = actor({
  module: import.meta.url,
  exportName: 'mcpSessionActor',
  protocol: mcpSession,
  setup(context: ActorContext<typeof mcpSession>, args: McpSessionArgs) {
    const { server, listener } = args;
    const events = context.named(mcpSessionEvents, listener);
    let settings: Settings | null = null;
    let mask: Mask = (text) => text;
    let catalogue: McpCatalogue = EMPTY_CATALOGUE;

    const lifecycle = new Lifecycle<Connection>(context, {
      open,
      isReconnecting: server.auto_reconnect,
      attemptsMax: () => settings?.['mcp.reconnects_max'] ?? 0,
      changed: () => {
        tellState();
        if (lifecycle.phase.kind !== 'connected' || settings === null) return;
        events.tell('catalogueChanged', { server: server.name, catalogue });
        upkeep.begin(lifecycle.phase.link, settings);
      },
    });
    const calls = new Calls(lifecycle, server.name, () => mask);
    const upkeep = new Upkeep(context, lifecycle, calls, async (connection, lists) => {
      const limits = { timeoutMs: connectTimeoutMs(), signal: context.signal, clock: context.clock };
      const found = await discovered(connection.client, catalogue, lists, limits);
      if (connection.hasEnded) return new Set(); // The next one is asked for everything.
      catalogue = found.catalogue;
      events.tell('catalogueChanged', { server: server.name, catalogue });
      tellState();
      return found.owed;
    });
    // Also when it is killed, which no hook hears of: what is open ends by itself from here on.
    context.signal.addEventListener('abort', () => void lifecycle.close(), { once: true });
    context.onStop(() => lifecycle.close());
    void lifecycle.connect(); // A1

    return {
      async connect(): Promise<ConnectOutcome> {
        try {
          await lifecycle.connect();
        } catch (error) {
          const fault = connectFault(error, server.name, mask, null);
          if (fault.code === 'mcp_sign_in_required') return { kind: 'auth_required' };
          throw fault;
        }
        const state = stateNow();
        if (state.kind === 'connected') return state;
        throw mcpSessionFaults.mcp_connect_failed(`The connection to ${server.name} did not last`);
      },
      state: () => stateNow(),
      catalogue: () => catalogue,
      async *call(request, { signal }) {
        const result = yield* withProgress<McpProgress & { kind: 'progress' }, Record<string, unknown>>(
          (report) => callTool(request, signal, (progress) => report({ kind: 'progress', ...progress })),
        );
        yield { kind: 'result', ...toolResultOf(result) };
      },
      readResource: async ({ uri }, { signal }) =>
        resourceContentsOf(await request('resources/read', { uri }, signal)),
      getPrompt: async ({ name, arguments: given }, { signal }) =>
        promptOf(await request('prompts/get', { name, arguments: given }, signal)),
    };

    /** @throws Fault */
    async function open(signal: AbortSignal): Promise<Connection> {
      const policy = await freshSettings();
      const target = targetOf(server, args.environment);
      mask = target.mask;
      const timeoutMs = connectTimeoutMs();
      const connection = await openConnection(context, {
        args,
        target,
        policy,
        timeoutMs,
        signal,
        onListChanged: (list) => upkeep.listChanged(list),
        tellLine: (level, source, line) =>
          events.tell('serverLogged', { server: server.name, level, source, line }),
      });
      try {
        const limits = { timeoutMs, signal, clock: context.clock };
        const found = await discovered(connection.client, EMPTY_CATALOGUE, new Set(LISTS), limits);
        if (connection.hasEnded) throw new Error((await connection.ended) ?? 'it was closed');
        catalogue = found.catalogue;
        upkeep.listsOwed(found.owed);
        return connection;
      } catch (error) {
        await connection.close();
        throw connectFault(error, server.name, mask, null);
      }
    }

    async function callTool(
      { tool, arguments: given, timeoutMs }: McpCallRequest,
      signal: AbortSignal,
      onProgress: (progress: McpProgress) => void,
    ): Promise<Record<string, unknown>> {
      const isKnown = catalogue.tools.some(({ name }) => name === tool);
      if (!isKnown && lifecycle.phase.kind === 'connected' && catalogue.tool_discovery_error === null) {
        throw mcpSessionFaults.mcp_tool_not_found(`The server ${server.name} has no tool ${tool}`);
      }
      return request('tools/call', { name: tool, arguments: given }, signal, { timeoutMs, onProgress });
    }

    async function request(
      method: 'tools/call' | 'resources/read' | 'prompts/get',
      params: Record<string, unknown>,
      signal: AbortSignal,
      options: { timeoutMs?: number | undefined; onProgress?: (progress: McpProgress) => void } = {},
    ): Promise<Record<string, unknown>> {
      const current = await freshSettings();
      const ownMs = milliseconds(server.timeout ?? current['mcp.call_timeout_seconds']);
      const { timeoutMs = ownMs, onProgress } = options;
      const order = {
        method,
        params,
        timeoutMs,
        signal,
        ...(onProgress === undefined ? {} : { onProgress }),
      };
      return calls.make(order, current);
    }

    function connectTimeoutMs(): number {
      return milliseconds(server.timeout ?? settings?.['mcp.connect_timeout_seconds'] ?? 0);
    }

    function tellState(): void {
      events.tell('sessionChanged', { server: server.name, state: stateNow() });
    }

    async function freshSettings(): Promise<Settings> {
      settings = await context.ask(config, 'settings', {}); // A2
      return settings;
    }

    function stateNow(): McpSessionState {
      const { phase } = lifecycle;
      switch (phase.kind) {
        case 'connecting':
          return phase.after === null ? { kind: 'connecting' } : reconnecting(phase.after);
        case 'waiting':
          return reconnecting(phase.after);
        case 'connected': {
          const { tools, resources } = catalogue;
          const counts = { tools_count: tools.length, resources_count: resources.length };
          return { kind: 'connected', server: phase.link.server, ...counts };
        }
        case 'failed':
          return phase.fault.code === 'mcp_sign_in_required'
            ? { kind: 'auth_required' }
            : { kind: 'error', error: phase.fault.message };
        case 'idle':
        case 'closed':
          return { kind: 'idle' };
      }
    }
  },
});

function reconnecting({ fault, failures }: Setback): McpSessionState {
  return { kind: 'reconnecting', attempt: failures, error: fault.message };
}

function milliseconds(seconds: number): number {
  return Math.round(seconds * SECOND_MS);
}
