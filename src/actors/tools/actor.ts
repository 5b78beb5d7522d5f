// Tools actor: one on the edge thread. Holds no state but what it has described already: it checks, runs and measures calls,
// each in its own time, so that a slow tool delays no other.
// D1 Every call ends within its deadline, whatever the tool does; that of a tool of an MCP server within its session's.

import { errorText, isFault } from '../../std/errors.ts';
import { type ActorContext, actor, type Handlers } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { toolOutputs } from '../tool-outputs/protocol.ts';
import { readArguments } from './arguments.ts';
import { LoadedTools } from './loaded-tools.ts';
import { cutShort, isLong, referenceTo } from './long-result.ts';
import { type Offer, Offers } from './offers.ts';
import {
  type ToolAudience,
  type ToolCall,
  type ToolCaller,
  type ToolCallItem,
  type ToolDescription,
  type ToolResult,
  tools,
} from './protocol.ts';
import { internalTools, type ToolRegistry } from './registry.ts';
import { SEARCH_TOOL, SearchArguments, searchTools } from './search-tool.ts';
import { callServerTool } from './server-call.ts';
import { describeServerTool, findTool, ServerTools, type Shelf } from './server-tools.ts';
import { errorAnswer, isError, type Tool, type ToolAnswer, type ToolContext } from './tool.ts';

/** Internal tools read and write this service's own storage: what takes longer is stuck. */
const CALL_DEADLINE_MS = 30_000;
/** To a model that has called what there is not. */
const NAMES_TOLD_MAX = 100;

type ToolProgress = Extract<ToolCallItem, { kind: 'progress' }>;

export const toolsActor = actor({
  module: import.meta.url,
  exportName: 'toolsActor',
  protocol: tools,
  setup: (context: ActorContext<typeof tools>) => serveTools(context, internalTools),
});

/** The handlers, over any registry. */
export function serveTools(
  context: ActorContext<typeof tools>,
  registry: ToolRegistry,
): Handlers<typeof tools> {
  const { clock } = context;
  const offers = new Offers();
  const serverTools = new ServerTools(context);
  const loaded = new LoadedTools();

  return {
    async list(audience) {
      const { internal, shelf } = await offerTo(audience);
      return { tools: [...internal.tools, ...shelf.offered] };
    },
    async offer({ known, ...audience }) {
      const { internal, shelf } = await offerTo(audience);
      const version = shelf.version === '' ? internal.version : `${internal.version}+${shelf.version}`;
      return {
        version,
        tools: version === known ? null : [...internal.tools, ...shelf.offered],
        loaded: loadedIn(shelf, audience.conversation_id),
      };
    },
    async call(call, { signal }) {
      const calling = perform(call, signal);
      for (let step = await calling.next(); ; step = await calling.next()) {
        if (step.done === true) return step.value;
      }
    },
    async *perform(call, { signal }) {
      yield { kind: 'result', result: yield* perform(call, signal) };
    },
  };

  async function offerTo({
    durable,
    agent_id,
    workspace_id,
    sees,
  }: ToolAudience): Promise<{ internal: Offer; shelf: Shelf }> {
    const settings = await context.ask(config, 'settings', {});
    const isOffered = (tool: Tool): boolean =>
      (durable || !tool.writesMemory) &&
      (workspace_id !== undefined || !tool.needsProject) &&
      (sees !== false || !tool.needsVision) &&
      (tool.offeredWhen?.(settings) ?? true);
    return {
      internal: offers.of([...registry.all()].filter(isOffered)),
      shelf: await serverTools.shelf(settings, agent_id),
    };
  }

  /** What was found in a conversation, where that is not offered anyway. */
  function loadedIn({ offered, callable }: Shelf, conversation: string | undefined): ToolDescription[] {
    const known = new Set(offered.map(({ name }) => name));
    return [...loaded.of(conversation)].flatMap((name) => {
      const tool = known.has(name) ? undefined : callable.get(name);
      return tool === undefined ? [] : [describeServerTool(tool)];
    });
  }

  async function* perform(call: ToolCall, signal: AbortSignal): AsyncGenerator<ToolProgress, ToolResult> {
    const startedMs = clock.monotonicMs();
    const tool = registry.get(call.tool);
    const { name, answer } =
      tool === undefined
        ? yield* performElsewhere(call, signal)
        : { name: tool.name, answer: await runWithin(context, tool, call, signal) };
    const { content, ...beside } = answer;
    return {
      ...beside,
      content:
        isLong(content) && !tool?.readsStored
          ? await shorten(context, name, call.tool_call_id, content, call.caller)
          : content,
      success: !isError(content),
      durationMs: clock.monotonicMs() - startedMs,
    };
  }

  /** No tool of ours: one of a server, or the search for one. */
  async function* performElsewhere(
    call: ToolCall,
    signal: AbortSignal,
  ): AsyncGenerator<ToolProgress, { readonly name: string; readonly answer: ToolAnswer }> {
    const { caller, tool: name } = call;
    const settings = await context.ask(config, 'settings', {});
    const shelf = await serverTools.shelf(settings, caller.agent_id);
    if (name === SEARCH_TOOL && shelf.callable.size > 0) return { name, answer: searchIn(shelf, call) };
    const tool = findTool(shelf, name);
    if (tool === undefined)
      return { name, answer: unknownTool(name, [...registry.names, ...namesIn(shelf)]) };
    return { name: tool.label, answer: yield* callServerTool(context, tool, call, signal) };
  }

  function searchIn(shelf: Shelf, { arguments: given, caller }: ToolCall): ToolAnswer {
    const read = readArguments(SearchArguments, given);
    if (!read.ok) return errorAnswer(`Bad arguments for ${SEARCH_TOOL}: ${read.problem}`);
    const { found, answer } = searchTools([...shelf.callable.values()], read.args as SearchArguments);
    const names = found.map((tool) => tool.name);
    loaded.add(caller.conversation_id, names);
    return { ...answer, loaded: found.map(describeServerTool) };
  }
}

function namesIn({ offered }: Shelf): readonly string[] {
  return offered.map(({ name }) => name);
}

function unknownTool(name: string, known: readonly string[]): ToolAnswer {
  const told = known.slice(0, NAMES_TOLD_MAX).join(', ');
  return errorAnswer(`There is no tool called ${name.slice(0, 100)}. Tools: ${told}`);
}

/** D1: races the tool against its deadline and its caller; whichever loses is aborted, and its outcome ignored. */
async function runWithin(
  context: ActorContext<typeof tools>,
  tool: Tool,
  { arguments: given, caller, tool_call_id }: ToolCall,
  abandoned: AbortSignal,
): Promise<ToolAnswer> {
  if (tool.writesMemory && !caller.durable) {
    return errorAnswer(`${tool.name} is not available: this conversation is not remembered`);
  }
  const read = readArguments(tool.parameters, given);
  if (!read.ok) return errorAnswer(`Bad arguments for ${tool.name}: ${read.problem}`);

  const overdue = new AbortController();
  const timer = context.clock.startTimer(CALL_DEADLINE_MS, () => overdue.abort());
  const signal = AbortSignal.any([abandoned, overdue.signal]);
  try {
    const run = Promise.resolve(tool.run(read.args, toolContext(context, caller, tool_call_id, signal)));
    return await Promise.race([run, stopped(signal, tool)]);
  } catch (error) {
    if (!isFault(error)) {
      context.log.error({ category: 'tools', tool: tool.name, error: errorText(error) }, 'a tool failed');
    }
    return errorAnswer(`${tool.name} failed: ${errorText(error)}`);
  } finally {
    timer.cancel();
    // Ends the listeners of a tool that lost the race.
    overdue.abort();
  }
}

function stopped(signal: AbortSignal, tool: Tool): Promise<ToolAnswer> {
  const answer = errorAnswer(`${tool.name} was stopped before it was done`);
  return new Promise((resolve) => {
    if (signal.aborted) resolve(answer);
    else signal.addEventListener('abort', () => resolve(answer), { once: true });
  });
}

function toolContext(
  context: ActorContext<typeof tools>,
  caller: ToolCaller,
  toolCallId: string,
  signal: AbortSignal,
): ToolContext {
  return {
    caller,
    toolCallId,
    random: context.random,
    signal,
    ask: (protocol, name, message) =>
      context.ask(protocol, name, message, { signal, deadlineMs: CALL_DEADLINE_MS }),
  };
}

/** Stores a long result and answers with a reference. An ephemeral turn leaves nothing behind, so there it is cut. */
async function shorten(
  context: ActorContext<typeof tools>,
  tool: string,
  tool_call_id: string,
  content: string,
  caller: ToolCaller,
): Promise<string> {
  if (!caller.durable) return cutShort(content);
  try {
    const { key } = await context.ask(toolOutputs, 'keep', { tool, tool_call_id, content, kind: 'tool' });
    return referenceTo(key, tool, content);
  } catch (error) {
    if (!isFault(error)) throw error;
    context.log.warn({ category: 'tools', tool, error: error.message }, 'a long result could not be stored');
    return cutShort(content);
  }
}
