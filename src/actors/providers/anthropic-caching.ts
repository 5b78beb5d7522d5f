// Anthropic caching: marks up to which parts of a request the messages API keeps what it has worked out, so that the next
// request begins from there. The API reads a request in the order tools, system, messages.
// H1 At most four marks, as the API allows: the last tool, the end of the system prompt, the ends of the last two user turns.
//    The last one is where the next round of this turn goes on; the one before is where the last round has left its mark, which
//    the API would otherwise look for among the last twenty blocks only.
// H2 A request that nothing follows (one question, no tools) has no marks on its messages: writing costs more than reading saves.

import type { MessageCreateParamsStreaming, MessageParam } from '@anthropic-ai/sdk/resources/messages';

const MARK = { cache_control: { type: 'ephemeral' } } as const;
const USER_TURNS_MARKED = 2;

export function withCacheMarks(body: MessageCreateParamsStreaming): MessageCreateParamsStreaming {
  const { tools = [], system, messages } = body;
  const goesOn = tools.length > 0 || messages.filter(isUser).length > 1; // H2
  return {
    ...body,
    messages: goesOn ? markUserTurns(messages) : messages,
    ...(tools.length === 0 ? {} : { tools: withLastMarked(tools) }),
    ...(Array.isArray(system) ? { system: withLastMarked(system) } : {}),
  };
}

function markUserTurns(messages: readonly MessageParam[]): MessageParam[] {
  const marked = new Set(messages.filter(isUser).slice(-USER_TURNS_MARKED));
  return messages.map((message) => {
    const { content } = message;
    return marked.has(message) && Array.isArray(content)
      ? ({ ...message, content: withLastMarked(content) } as MessageParam)
      : message;
  });
}

function isUser({ role }: MessageParam): boolean {
  return role === 'user';
}

function withLastMarked<Part extends object>(parts: readonly Part[]): Part[] {
  return parts.map((part, at) => (at === parts.length - 1 ? { ...part, ...MARK } : part));
}
