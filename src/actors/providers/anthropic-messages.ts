// Anthropic messages: our conversation in the shape of the messages API.
// N1 System messages that open the conversation are the system prompt. A later one keeps its place, marked, in a user turn:
//    older models and compatible servers know no system turn.
// N2 Turns alternate: what follows one another on the same side is one turn, tool results first, as the API asks.
// N3 The first turn is the user's, and no turn and no text is empty.
// N4 What the model thought before it called tools goes back in front of the calls.

import type {
  ImageBlockParam,
  MessageCreateParamsStreaming,
  MessageParam,
  TextBlockParam,
  Tool,
} from '@anthropic-ai/sdk/resources/messages';
import { withCacheMarks } from './anthropic-caching.ts';
import type { CompletionRequest, MediaRef, ModelMessage, SignedThought } from './protocol.ts';
import type { RequestMedia, Slot } from './request-media.ts';

/** The API wants a limit where we may have none; every model of today can write this much. */
const OUTPUT_TOKENS_DEFAULT = 4_096;

type Block = Exclude<MessageParam['content'], string>[number];
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly blocks: Block[];
}

/** The API's current version takes no temperature from anyone, so it is left out. */
export function anthropicBody(request: CompletionRequest, media: RequestMedia): MessageCreateParamsStreaming {
  const opening = request.messages.findIndex((message) => message.role !== 'system');
  const prompt = request.messages.slice(0, opening === -1 ? undefined : opening);
  const conversation = opening === -1 ? [] : request.messages.slice(opening);
  const system = prompt.flatMap((message) => textBlocks(message.content));
  return withCacheMarks({
    model: request.modelId,
    max_tokens: request.maxOutputTokens ?? OUTPUT_TOKENS_DEFAULT,
    messages: turnsOf(conversation, media),
    stream: true,
    ...(system.length === 0 ? {} : { system }),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(wireTool) }),
    ...outputConfig(request),
    ...toolChoice(request),
    ...(request.stop === undefined ? {} : { stop_sequences: [...request.stop] }),
  });
}

/** What the API takes for granted is not said. It says nothing of several calls where there must be none. */
function toolChoice({
  toolChoice: choice,
  parallelToolCalls,
  tools,
}: CompletionRequest): Partial<MessageCreateParamsStreaming> {
  const disable_parallel_tool_use = parallelToolCalls === false;
  if (tools.length === 0 || (choice === undefined && !disable_parallel_tool_use)) return {};
  if (choice === 'none') return { tool_choice: { type: 'none' } };
  if (typeof choice === 'object')
    return { tool_choice: { type: 'tool', name: choice.name, disable_parallel_tool_use } };
  const type = choice === 'required' ? 'any' : 'auto';
  return { tool_choice: { type, disable_parallel_tool_use } };
}

/** The API knows schemas, and no "some JSON". */
function outputConfig({ responseFormat }: CompletionRequest): Partial<MessageCreateParamsStreaming> {
  if (responseFormat?.type !== 'json_schema') return {};
  const { schema } = responseFormat.json_schema;
  return { output_config: { format: { type: 'json_schema', schema: { ...schema } } } };
}

function turnsOf(messages: readonly ModelMessage[], media: RequestMedia): MessageParam[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const blocks = blocksOf(message, media);
    if (blocks.length === 0) continue; // N3
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks });
  }
  if (turns[0]?.role !== 'user') {
    turns.unshift({ role: 'user', blocks: [{ type: 'text', text: '(earlier messages are left out)' }] });
  }
  return turns.map((turn) => ({ role: turn.role, content: resultsFirst(turn.blocks) }) as MessageParam);
}

function blocksOf(message: ModelMessage, media: RequestMedia): Block[] {
  switch (message.role) {
    case 'user':
      return [
        ...(message.media ?? []).flatMap((ref) => mediaBlocks(ref, media)),
        ...textBlocks(message.content),
      ];
    case 'system':
      return textBlocks(`<system>\n${message.content}\n</system>`);
    case 'tool':
      return [{ type: 'tool_result', tool_use_id: message.toolCallId, content: message.content }];
    case 'assistant':
      return [
        ...(message.toolCalls?.[0]?.thoughts ?? []).map(thoughtBlock), // N4
        ...textBlocks(message.content),
        ...(message.toolCalls ?? []).map(
          (call): Block => ({ type: 'tool_use', id: call.id, name: call.name, input: call.arguments ?? {} }),
        ),
      ];
  }
}

/** In front of the text that speaks of it, as the API advises. */
function mediaBlocks(ref: MediaRef, media: RequestMedia): Block[] {
  const slot = media.slotOf(ref);
  return typeof slot === 'string' ? textBlocks(slot) : [imageBlock(slot)];
}

function imageBlock({ mediaType, data }: Slot): ImageBlockParam {
  const media_type = mediaType as 'image/png'; // One of the four that an upload may have, which the API has too.
  return { type: 'image', source: { type: 'base64', media_type, data } };
}

function thoughtBlock(thought: SignedThought): Block {
  return thought.kind === 'signed'
    ? { type: 'thinking', thinking: thought.text, signature: thought.signature }
    : { type: 'redacted_thinking', data: thought.data };
}

function textBlocks(text: string): TextBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }];
}

function resultsFirst(blocks: readonly Block[]): Block[] {
  const isResult = (block: Block): boolean => block.type === 'tool_result';
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

function wireTool(tool: CompletionRequest['tools'][number]): Tool {
  return {
    name: tool.name,
    description: tool.description,
    input_schema: { type: 'object', ...tool.parameters },
  };
}
