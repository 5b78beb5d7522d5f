// OpenaiMessages: a request in the words of the chat-completions API. Pure.

import { isReasoningModel } from './model-families.ts';
import type { CompletionRequest, Connection, ModelMessage, Sampling } from './protocol.ts';

export function openaiHeaders(connection: Connection): Readonly<Record<string, string>> {
  return {
    ...(connection.apiKey === null ? {} : { authorization: `Bearer ${connection.apiKey}` }),
    ...connection.headers,
  };
}

export function openaiBody(request: CompletionRequest): object {
  const { connection, modelId, tools, maxOutputTokens, responseFormat } = request;
  // OpenAI's own models take no `max_tokens` any more. Other servers know only the old name.
  const limit = connection.provider === 'openai' ? 'max_completion_tokens' : 'max_tokens';
  return {
    model: modelId,
    messages: request.messages.map(wireMessage),
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

function wireMessage(message: ModelMessage): object {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content: message.content };
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
