// Tokens: an estimate that needs no tokenizer. Four characters of English are about one token; code and other scripts take
// more tokens for the same length, so the estimate is used with a reserve and never for billing.

import type { MediaRef, MediaSources, ModelMessage, ModelToolCall } from '../providers/protocol.ts';

const CHARS_PER_TOKEN = 4;
/** Role, separators and the like. */
const MESSAGE_OVERHEAD = 4;
/** What a large picture takes with most providers. */
const IMAGE_TOKENS = 1_600;
/** Of some minutes that are heard, or of a long transcript. */
const AUDIO_TOKENS = 8_000;

export function estimateTokens(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** `media`: what becomes of those that it names, as far as that is known. */
export function estimateMessageTokens(message: ModelMessage, media: MediaSources = {}): number {
  const calls: readonly ModelToolCall[] = (message.role === 'assistant' && message.toolCalls) || [];
  const callTokens = calls.reduce((sum, call) => sum + estimateTokens(call.name + call.argumentsText), 0);
  const refs = (message.role === 'user' && message.media) || [];
  const mediaTokens = refs.reduce((sum, ref) => sum + mediumTokens(ref, media[ref.document_id]), 0);
  return MESSAGE_OVERHEAD + estimateTokens(message.content) + callTokens + mediaTokens;
}

export function estimateMessagesTokens(messages: readonly ModelMessage[], media?: MediaSources): number {
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message, media), 0);
}

function mediumTokens({ kind }: MediaRef, source: MediaSources[string] | undefined): number {
  if (typeof source === 'string') return estimateTokens(source);
  return kind === 'image' ? IMAGE_TOKENS : AUDIO_TOKENS;
}
