// Order: what a client of the API asks for, in our own words. Pure. What we cannot do is refused here, by name (C4).

import { unreachable } from '../../std/assert.ts';
import { errorText } from '../../std/errors.ts';
import type {
  MediaRef,
  ModelMessage,
  ModelToolCall,
  ResponseFormat,
  ToolChoice,
} from '../providers/protocol.ts';
import type { ChatRequest } from '../runs/protocol.ts';
import {
  type ChatCompletionRequest,
  type ContentPart,
  chatCompletionFaults,
  type DirectOrder,
  type Message,
  type ToolCall,
} from './protocol.ts';

export const AGENT_PREFIX = 'agent:';
export const AGENT_DEFAULT = `${AGENT_PREFIX}default`;
/** What clients send that must name some model. */
const MODEL_DEFAULT = 'default';
const IMAGE_URL =
  /^\/api\/workspaces\/([A-Za-z0-9_-]{1,128})\/documents\/([A-Za-z0-9_-]{1,128})\/raw(?:\?.*)?$/;

export type Order =
  | { readonly kind: 'direct'; readonly order: Omit<DirectOrder, 'id'> }
  | { readonly kind: 'agent'; readonly turn: ChatRequest; readonly wantsUsage: boolean };

const refused = chatCompletionFaults.completion_refused;

/** @throws completion_refused, model_unknown */
export function orderOf(request: ChatCompletionRequest): Order {
  refuseWhatIsNotDone(request);
  const model = request.model?.trim() ?? '';
  const wantsUsage = request.stream_options?.include_usage === true;
  if (model.startsWith(AGENT_PREFIX)) return { kind: 'agent', turn: turnOf(model, request), wantsUsage };
  const wanted = model === '' || model === MODEL_DEFAULT ? null : model;
  return { kind: 'direct', order: { model: wanted, wantsUsage, request: completionOf(request) } };
}

function refuseWhatIsNotDone({ n, logprobs, functions, modalities }: ChatCompletionRequest): void {
  if (n != null && n !== 1) throw refusedAt('n', 'n must be 1: one answer at a time');
  if (logprobs) throw refusedAt('logprobs', 'logprobs are not told here');
  if (functions?.length) throw refusedAt('functions', 'functions are out of use: send tools');
  if (modalities?.some((modality) => modality !== 'text'))
    throw refusedAt('modalities', 'modalities must be text');
}

// ---- Direct (C1).

function completionOf(request: ChatCompletionRequest): DirectOrder['request'] {
  const { temperature, top_p, frequency_penalty, presence_penalty, seed, stop } = request;
  const format = formatOf(request);
  const choice = choiceOf(request);
  return {
    messages: messagesOf(request.messages),
    tools: toolsOf(request),
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? null,
    ...(temperature == null ? {} : { temperature }),
    ...(top_p == null ? {} : { topP: top_p }),
    ...(frequency_penalty == null ? {} : { frequencyPenalty: frequency_penalty }),
    ...(presence_penalty == null ? {} : { presencePenalty: presence_penalty }),
    ...(format === null ? {} : { responseFormat: format }),
    ...(stop == null ? {} : { stop: typeof stop === 'string' ? [stop] : stop }),
    ...(seed == null ? {} : { seed }),
    ...(choice === null ? {} : { toolChoice: choice }),
    ...(request.parallel_tool_calls == null ? {} : { parallelToolCalls: request.parallel_tool_calls }),
  };
}

function messagesOf(messages: readonly Message[]): readonly ModelMessage[] {
  const names = new Map<string, string>();
  return messages.map((message, at): ModelMessage => {
    const content = textOf(message, at);
    switch (message.role) {
      case 'system':
      case 'developer':
        return { role: 'system', content };
      case 'user': {
        const media = imagesOf(message, at);
        return { role: 'user', content, ...(media.length === 0 ? {} : { media }) };
      }
      case 'assistant': {
        const toolCalls = (message.tool_calls ?? []).map((call) => toolCallOf(call, at));
        for (const { id, name } of toolCalls) names.set(id, name);
        return { role: 'assistant', content, ...(toolCalls.length === 0 ? {} : { toolCalls }) };
      }
      case 'tool': {
        const toolCallId = message.tool_call_id ?? '';
        const name = names.get(toolCallId);
        if (name === undefined)
          throw refusedAt(`messages[${at}].tool_call_id`, 'a tool message answers a tool call before it');
        return { role: 'tool', content, toolCallId, name };
      }
      default:
        return unreachable(message.role);
    }
  });
}

function textOf({ role, content }: Message, at: number): string {
  if (content == null) return '';
  if (typeof content === 'string') return content;
  return content
    .flatMap(({ type, text }) => {
      if (type === 'text' && text !== undefined) return [text];
      if (type === 'image_url' && role === 'user') return [];
      throw refusedAt(`messages[${at}].content`, `parts of type ${type} are not taken from the ${role}`);
    })
    .join('\n');
}

/** Media come from workspaces alone: nothing is fetched, and what comes as data is uploaded first. */
function imagesOf({ role, content }: Message, at: number): readonly MediaRef[] {
  if (role !== 'user' || content == null || typeof content === 'string') return [];
  return content.flatMap((part) => (part.type === 'image_url' ? [imageOf(part, at)] : []));
}

function imageOf({ image_url }: ContentPart, at: number): MediaRef {
  const [, workspace_id, document_id] = IMAGE_URL.exec(image_url?.url ?? '') ?? [];
  if (workspace_id !== undefined && document_id !== undefined)
    return { kind: 'image', workspace_id, document_id };
  throw refusedAt(
    `messages[${at}].content`,
    'an image is named by the url that its upload has answered, /api/workspaces/{id}/documents/{id}/raw',
  );
}

function toolCallOf({ id, type, function: called }: ToolCall, at: number): ModelToolCall {
  const where = `messages[${at}].tool_calls`;
  if (type !== 'function') throw refusedAt(where, `tool calls of type ${type} are not known`);
  let given: unknown;
  try {
    given = called.arguments.trim() === '' ? {} : JSON.parse(called.arguments);
  } catch (error) {
    throw refusedAt(where, `the arguments of ${called.name} are no JSON: ${errorText(error)}`);
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw refusedAt(where, `the arguments of ${called.name} are no object`);
  return {
    id,
    name: called.name,
    arguments: given as Readonly<Record<string, unknown>>,
    argumentsText: called.arguments,
  };
}

function toolsOf({ tools }: ChatCompletionRequest): DirectOrder['request']['tools'] {
  return (tools ?? []).map(({ type, function: described }, at) => {
    if (type !== 'function' || described === undefined)
      throw refusedAt(`tools[${at}]`, `tools of type ${type} are not known: send functions`);
    const { name, description = '', parameters, strict } = described;
    return {
      name,
      description,
      parameters: parameters ?? { type: 'object', properties: {} },
      ...(strict == null ? {} : { strict }),
    };
  });
}

function choiceOf({ tool_choice: choice, tools }: ChatCompletionRequest): ToolChoice | null {
  if (choice == null) return null;
  if (choice === 'none' || choice === 'auto') return tools?.length ? choice : null;
  if (!tools?.length) throw refusedAt('tool_choice', 'tool_choice needs tools to choose from');
  if (choice === 'required') return choice;
  const name = typeof choice === 'object' && choice.type === 'function' ? choice.function?.name : undefined;
  if (name === undefined)
    throw refusedAt('tool_choice', 'tool_choice must be none, auto, required or name a function');
  return { name };
}

function formatOf({ response_format: format }: ChatCompletionRequest): ResponseFormat | null {
  if (format == null) return null;
  if (format.type !== 'json_schema') return { type: format.type };
  const { json_schema: described } = format;
  if (described?.schema === undefined)
    throw refusedAt('response_format', 'response_format.json_schema.schema is required');
  const { name, schema, strict } = described;
  return { type: 'json_schema', json_schema: { name, schema, ...(strict == null ? {} : { strict }) } };
}

// ---- Agents (C2).

/** The client's history goes along with a turn that is not stored; a named conversation knows its own. */
function turnOf(model: string, request: ChatCompletionRequest): ChatRequest {
  if (model !== AGENT_DEFAULT) throw chatCompletionFaults.model_unknown(`Unknown agent: ${model}`);
  if (request.tools?.length)
    throw refusedAt('tools', 'an agent brings its own tools: name a model to send some');
  if (request.response_format != null && request.response_format.type !== 'text')
    throw refusedAt('response_format', 'an agent answers in text: name a model for a format');
  const sessionId = request.metadata?.session_id;
  if (sessionId !== undefined && typeof sessionId !== 'string')
    throw refusedAt('metadata', 'metadata.session_id must be a text');
  const { messages } = request;
  const last = messages.at(-1);
  if (last?.role !== 'user')
    throw refusedAt('messages', 'an agent answers a user: the last message must be theirs');
  const texts = messages.map((message, at) => {
    // Of earlier messages the agent reads which images there were, and may look at them.
    const images = message === last ? [] : imagesOf(message, at);
    const lines = images.map((ref) => `[Attached image: document_id ${ref.document_id}]`);
    return { role: message.role, content: [textOf(message, at), ...lines].join('\n') };
  });
  if (messages.some(({ role, tool_calls }) => role === 'tool' || tool_calls?.length))
    throw refusedAt('messages', 'an agent keeps its tool calls to itself: leave tool messages out');
  const rules = texts.flatMap(({ role, content }) =>
    role === 'system' || role === 'developer' ? [content] : [],
  );
  const question = texts.at(-1)?.content ?? '';
  const message = [...rules, question].filter((text) => text.trim() !== '').join('\n\n');
  const images = imagesOf(last, messages.length - 1).map(({ workspace_id, document_id: doc_id }) => ({
    workspace_id,
    doc_id,
  }));
  const asked = {
    message,
    ...(images.length === 0 ? {} : { images }),
    ...(request.temperature == null ? {} : { temperature: request.temperature }),
  };
  if (sessionId) return { ...asked, session_id: sessionId };
  const earlier = texts
    .slice(0, -1)
    .flatMap(({ role, content }) => (role === 'user' || role === 'assistant' ? [{ role, content }] : []));
  return { ...asked, use_memory: false, ...(earlier.length === 0 ? {} : { earlier }) };
}

function refusedAt(param: string, message: string) {
  return refused(message, { details: { param } });
}
