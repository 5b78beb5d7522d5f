// OpenaiMessages: a request in the words of the chat-completions API. Pure.

import { audioFormatOf } from './audio-formats.ts';
import { isReasoningModel } from './model-families.ts';
import type { CompletionRequest, Connection, MediaRef, ModelMessage, Sampling } from './protocol.ts';
import type { RequestMedia } from './request-media.ts';

export function openaiHeaders(connection: Connection): Readonly<Record<string, string>> {
  return {
    ...(connection.apiKey === null ? {} : { authorization: `Bearer ${connection.apiKey}` }),
    ...connection.headers,
  };
}

export function openaiBody(request: CompletionRequest, media: RequestMedia): object {
  const { connection, modelId, tools, maxOutputTokens, responseFormat } = request;
  // OpenAI's own models take no `max_tokens` any more. Other servers know only the old name.
  const limit = connection.provider === 'openai' ? 'max_completion_tokens' : 'max_tokens';
  return {
    model: modelId,
    messages: request.messages.map((message) => wireMessage(message, media)),
    stream: true,
    stream_options: { include_usage: true },
    ...(isReasoningModel(modelId) ? {} : wireSampling(request)),
    ...(maxOutputTokens === null ? {} : { [limit]: maxOutputTokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...wireToolChoice(request),
    ...(request.stop === undefined ? {} : { stop: request.stop }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(responseFormat === undefined ? {} : { response_format: responseFormat }),
    // OpenRouter reports what it billed only when it is asked to.
    ...(connection.kind === 'openrouter' ? { usage: { include: true } } : {}),
  };
}

function wireToolChoice({ toolChoice, parallelToolCalls }: CompletionRequest): object {
  return {
    ...(toolChoice === undefined
      ? {}
      : {
          tool_choice:
            typeof toolChoice === 'string' ? toolChoice : { type: 'function', function: toolChoice },
        }),
    ...(parallelToolCalls === undefined ? {} : { parallel_tool_calls: parallelToolCalls }),
  };
}

/** Reasoning models take none of it. What says nothing is left out: not every server knows every name. */
function wireSampling({
  temperature,
  topP = 1,
  frequencyPenalty = 0,
  presencePenalty = 0,
}: Sampling): object {
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === 1 ? {} : { top_p: topP }),
    ...(frequencyPenalty === 0 ? {} : { frequency_penalty: frequencyPenalty }),
    ...(presencePenalty === 0 ? {} : { presence_penalty: presencePenalty }),
  };
}

function wireMessage(message: ModelMessage, media: RequestMedia): object {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: userContent(message, media) };
    case 'tool':
      return { role: 'tool', tool_call_id: message.toolCallId, name: message.name, content: message.content };
    case 'assistant': {
      const calls = message.toolCalls ?? [];
      if (calls.length === 0) return { role: 'assistant', content: message.content };
      return {
        role: 'assistant',
        content: message.content === '' ? null : message.content,
        tool_calls: calls.map((call) => ({
          id: call.id,
          type: 'function',
          // Servers parse the arguments of earlier calls too: what was broken goes back as an empty object.
          function: { name: call.name, arguments: JSON.stringify(call.arguments ?? {}) },
        })),
      };
    }
  }
}

/** A list of parts only where there is more than text: not every server takes one. */
function userContent(
  { content, media: refs = [] }: Extract<ModelMessage, { readonly role: 'user' }>,
  media: RequestMedia,
): string | readonly object[] {
  const parts = refs.map((ref) => partOf(ref, media));
  const texts = [content, ...parts.filter((part) => typeof part === 'string')];
  const text = texts.filter((line) => line !== '').join('\n');
  const shown = parts.filter((part) => typeof part === 'object');
  if (shown.length === 0) return text;
  return [...(text === '' ? [] : [{ type: 'text', text }]), ...shown];
}

function partOf(ref: MediaRef, media: RequestMedia): object | string {
  const slot = media.slotOf(ref);
  if (typeof slot === 'string') return slot;
  const { mediaType, data } = slot;
  return ref.kind === 'image'
    ? { type: 'image_url', image_url: { url: `data:${mediaType};base64,${data}` } }
    : { type: 'input_audio', input_audio: { data, format: audioFormatOf(mediaType) } };
}
