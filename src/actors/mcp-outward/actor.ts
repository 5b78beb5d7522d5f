// McpOutward actor: one on the edge thread. Holds the calls that are under way; what they do is the tools' own.
// A1 A call ends with its reader, its cancel or its answer, whichever comes first; then everything made for it is let go of.

import { errorText, isFault } from '../../std/errors.ts';
import { validateLeniently } from '../../std/validation.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { Outlet } from './outlet.ts';
import { errorAnswer, type OutwardContext, type OutwardTool } from './outward-tool.ts';
import { CALLS_OPEN_MAX, mcpOutward, mcpOutwardFaults, type OutwardCall } from './protocol.ts';
import { offeredTools, outwardTools } from './registry.ts';

const PROBLEMS_TOLD_MAX = 5;

/** A call under way. */
interface OpenCall {
  readonly over: AbortController;
  undo: (() => void) | null;
  isCancelled: boolean;
}

export const mcpOutwardActor = actor({
  module: import.meta.url,
  exportName: 'mcpOutwardActor',
  protocol: mcpOutward,
  setup(context: ActorContext<typeof mcpOutward>) {
    const calls = new Map<string, OpenCall>();
    context.exposeState(() => ({ callsOpen: calls.size }));

    /** U1. @throws mcp_server_disabled */
    const refuseWhenOff = async (): Promise<void> => {
      const settings = await context.ask(config, 'settings', {});
      if (!settings['mcp.server.enabled']) {
        throw mcpOutwardFaults.mcp_server_disabled('The MCP server is off: set mcp.server.enabled');
      }
    };

    const contextOf = (order: OutwardCall, open: OpenCall, outlet: Outlet): OutwardContext => ({
      userId: order.user_id,
      clock: context.clock,
      random: context.random,
      signal: open.over.signal,
      progress: order.wantsProgress ? outlet.progress : null,
      whenCancelled(undo) {
        open.undo = undo;
        if (open.isCancelled) undo();
      },
      ask: (protocol, name, message, options) => context.ask(protocol, name, message, options),
      stream: (protocol, name, message, options) => context.stream(protocol, name, message, options),
      aside: (work) =>
        context.pipe(
          work,
          () => undefined,
          (error) => context.log.debug({ detail: errorText(error) }, 'something aside of a call failed'),
        ),
    });

    return {
      async offer() {
        await refuseWhenOff();
        return { tools: offeredTools };
      },

      async *call(order, { signal }) {
        if (calls.size >= CALLS_OPEN_MAX) throw mcpOutwardFaults.calls_full('Too many calls are under way'); // U5
        const open: OpenCall = { over: new AbortController(), undo: null, isCancelled: false };
        calls.set(order.call_id, open); // Before anything is waited for: its cancel may come next.
        const outlet = new Outlet();
        const leave = (): void => open.over.abort();
        signal.addEventListener('abort', leave, { once: true });
        try {
          await refuseWhenOff();
          const tool = outwardTools.get(order.name);
          if (tool === undefined)
            throw mcpOutwardFaults.tool_unknown(`Unknown tool: ${order.name.slice(0, 100)}`);
          if (open.over.signal.aborted) return;
          answer(tool, order, contextOf(order, open, outlet)).then(
            (given) => outlet.answer(given),
            (error: unknown) => outlet.fail(error),
          );
          yield* outlet.news(open.over.signal);
        } finally {
          signal.removeEventListener('abort', leave);
          calls.delete(order.call_id);
          open.over.abort(); // A1
        }
      },

      cancel({ call_id }) {
        const open = calls.get(call_id);
        if (open === undefined) return;
        open.isCancelled = true;
        open.undo?.();
        open.over.abort();
      },
    };
  },
});

/** U4. @throws only what is a bug */
async function answer(tool: OutwardTool, order: OutwardCall, context: OutwardContext) {
  const read = validateLeniently(tool.parameters, order.arguments);
  if (!read.ok) {
    const told = read.problems
      .slice(0, PROBLEMS_TOLD_MAX)
      .map(({ at, message }) => `${at} ${message}`.trim());
    return errorAnswer(`Bad arguments for ${tool.name}: ${told.join('; ')}`);
  }
  try {
    return await tool.run(read.value, context);
  } catch (error) {
    if (isFault(error)) return errorAnswer(error.message);
    throw error;
  }
}
