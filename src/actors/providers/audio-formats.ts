// Audio formats: what recordings are called in requests, and which of them a model may get as they are. Pure.

import type { Connection } from './protocol.ts';

/** By the type that an upload was found to have. */
const FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/aac': 'aac',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/webm': 'webm',
};

/** All that chat-completions APIs name. */
const COMMON: readonly string[] = ['wav', 'mp3'];
/** Of models that the aggregator hands on to others than OpenAI. */
const MORE: readonly string[] = [...COMMON, 'ogg', 'flac', 'aac', 'm4a'];

export function audioFormatOf(mediaType: string): string {
  return FORMATS[mediaType] ?? (mediaType.split('/')[1] as string);
}

/** The types that a model which hears takes. */
export function audioTypesOf({ kind }: Connection, modelId: string): readonly string[] {
  if (kind === 'anthropic' || kind === 'offline') return [];
  const formats = kind === 'openrouter' && !modelId.startsWith('openai/') ? MORE : COMMON;
  return Object.keys(FORMATS).filter((type) => formats.includes(FORMATS[type] as string));
}
