// Tools actor: one on the edge thread. Holds no state but what it has described already: it checks, runs and measures calls,
// each in its own time, so that a slow tool delays no other.
// D1 Every call ends within its deadline, whatever the tool does.

import { errorText, isFault } from '../../std/errors.ts';
import { type ActorContext, actor, type Handlers } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { toolOutputs } from '../tool-outputs/protocol.ts';
import { readArguments } from './arguments.ts';
import { cutShort, isLong, referenceTo } from './long-result.ts';
import { type Offer, Offers } from './offers.ts';
import { type ToolCaller, tools } from './protocol.ts';
import { internalTools, type ToolRegistry } from './registry.ts';
import { errorAnswer, isError, type Tool, type ToolAnswer, type ToolContext } from './tool.ts';

/** Internal tools read and write this service's own storage: what takes longer is stuck. */
const CALL_DEADLINE_MS = 30_000;

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
  const offerNow = async (durable: boolean): Promise<Offer> => {
    const settings = await context.ask(config, 'settings', {});
    return offers.of(
      [...registry.all()].filter(
        (tool) => (durable || !tool.writesMemory) && (tool.offeredWhen?.(settings) ?? true),
      ),
    );
  };
  return {
    async list({ durable }) {
      return { tools: (await offerNow(durable)).tools };
    },
    async offer({ durable, known }) {
      const { version, tools: offered } = await offerNow(durable);
      return { version, tools: version === known ? null : offered };
    },
    async call({ tool: name, tool_call_id, arguments: given, caller }, inquiry) {
      const startedMs = clock.monotonicMs();
      const tool = registry.get(name);
      const answer =
        tool === undefined
          ? unknownTool(name, registry)
          : await runWithin(context, tool, given, caller, inquiry.signal);
      const success = !isError(answer.content);
      const content =
        isLong(answer.content) && !tool?.readsStored
          ? await shorten(context, name, tool_call_id, answer.content, caller)
          : answer.content;
      return {
        content,
        success,
        durationMs: clock.monotonicMs() - startedMs,
        ...(answer.exhibit === undefined ? {} : { exhibit: answer.exhibit }),
      };
    },
  };
}

function unknownTool(name: string, registry: ToolRegistry): ToolAnswer {
  return errorAnswer(`There is no tool called ${name.slice(0, 100)}. Tools: ${registry.names.join(', ')}`);
}

/** D1: races the tool against its deadline and its caller; whichever loses is aborted, and its outcome ignored. */
async function runWithin(
  context: ActorContext<typeof tools>,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  caller: ToolCaller,
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
    const run = Promise.resolve(tool.run(read.args, toolContext(context, caller, signal)));
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
  signal: AbortSignal,
): ToolContext {
  return {
    caller,
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
