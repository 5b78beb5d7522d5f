// Model families: what is known about models whose provider's list does not say. A small table on purpose: a provider's
// list and the user's own limits (`context_limits.models`) come first, and what is unknown gets the format's default.

export interface ModelTraits {
  readonly contextWindow: number;
  readonly maxOutputTokens: number | null;
  readonly supportsTools: boolean;
  readonly supportsVision: boolean;
}

interface Family {
  /** Matched against the id without its vendor (`anthropic/claude-…` and `claude-…` are one model). */
  readonly pattern: RegExp;
  readonly traits: ModelTraits;
}

const family = (
  pattern: RegExp,
  contextWindow: number,
  maxOutputTokens: number,
  supportsVision: boolean,
): Family => ({ pattern, traits: { contextWindow, maxOutputTokens, supportsTools: true, supportsVision } });

/** The first match counts, so the narrower patterns come first. */
const FAMILIES: readonly Family[] = [
  family(/^gpt-5/, 400_000, 128_000, true),
  family(/^gpt-4\.1/, 1_047_576, 32_768, true),
  family(/^(gpt-4o|chatgpt-4o)/, 128_000, 16_384, true),
  family(/^gpt-4-turbo/, 128_000, 4_096, true),
  family(/^gpt-4/, 8_192, 8_192, false),
  family(/^gpt-3\.5/, 16_385, 4_096, false),
  family(/^gpt-oss/, 131_072, 32_768, false),
  family(/^o[1-9]/, 200_000, 100_000, true),
  family(/^claude-3-opus/, 200_000, 4_096, true),
  family(/^claude-3-haiku/, 200_000, 4_096, true),
  family(/^claude-3-5/, 200_000, 8_192, true),
  family(/^claude/, 200_000, 64_000, true),
  family(/^gemini/, 1_048_576, 65_536, true),
  family(/^llama-?3\.[1-9]/, 131_072, 8_192, false),
  family(/^(qwen-?3|qwen-?2\.5)/, 32_768, 8_192, false),
  family(/^(mistral-large|mistral-medium|mistral-small)/, 131_072, 8_192, false),
  family(/^deepseek/, 65_536, 8_192, false),
];

export function knownTraits(modelId: string): ModelTraits | null {
  const name = localName(modelId);
  return FAMILIES.find((entry) => entry.pattern.test(name))?.traits ?? null;
}

/** Models of a local server, whose list says nothing: what sees is mostly called so. */
export function isNamedForVision(modelId: string): boolean {
  return /(^|[-_.\d])(vl|vision|llava|bakllava|pixtral|moondream|minicpm-v|internvl|gemma-?3)([-_.:]|\d|$)/.test(
    localName(modelId),
  );
}

export function isNamedForAudio(modelId: string): boolean {
  return /^(gemini|gpt-audio|gpt-4o(-mini)?-audio|voxtral|qwen\d?(\.\d)?-(audio|omni))/.test(
    localName(modelId),
  );
}

/** OpenAI's reasoning models, which refuse a temperature. */
export function isReasoningModel(modelId: string): boolean {
  const name = localName(modelId);
  return /^(o[1-9]|gpt-5)/.test(name) && !name.includes('chat');
}

function localName(modelId: string): string {
  return modelId.slice(modelId.lastIndexOf('/') + 1).toLowerCase();
}

/** False for models that make no conversation: embeddings, speech, images, moderation. */
export function isChatModel(modelId: string): boolean {
  return !/embed|whisper|transcribe|tts|dall-e|image|moderation|rerank|realtime|audio|sora|bge-/i.test(
    modelId,
  );
}
