// Capabilities: what a model can do and how much it holds, for a turn and for the lists of the clients.
// The user's own limits come first, then what the provider says, then what is known about the family, then the defaults.

import type { Static } from '../../std/schema.ts';
import type { Settings } from '../config/protocol.ts';
import { audioTypesOf } from './audio-formats.ts';
import { isChatModel, isNamedForAudio, isNamedForVision, knownTraits } from './model-families.ts';
import type { ListedModel } from './model-list.ts';
import { priceOf } from './pricing.ts';
import type { Connection, ModelSummary } from './protocol.ts';

/** The wire format's default for a model of which nothing is known. */
export const CONTEXT_WINDOW_DEFAULT = 4_096;

export interface Capabilities {
  readonly contextWindow: number;
  readonly maxOutputTokens: number | null;
  readonly supportsTools: boolean;
  readonly supportsVision: boolean;
  /** Recordings that it hears as they are. */
  readonly audioTypes: readonly string[];
}

export function capabilitiesOf(
  connection: Connection,
  modelId: string,
  listed: ListedModel | null,
  settings: Settings,
): Capabilities {
  const limits = settings['context_limits.models'];
  const own = limits[`${connection.provider}:${modelId}`] ?? limits[modelId] ?? {};
  // A local server loads a model with the window that its user chose, whatever the model could hold.
  const local =
    connection.kind === 'lmstudio'
      ? {
          contextWindow: settings['context_limits.lmstudio.context_window'],
          maxOutputTokens: settings['context_limits.lmstudio.max_output_tokens'],
        }
      : null;
  const family = knownTraits(modelId);
  return {
    contextWindow:
      own.context_window ??
      local?.contextWindow ??
      listed?.contextWindow ??
      family?.contextWindow ??
      CONTEXT_WINDOW_DEFAULT,
    maxOutputTokens:
      own.max_output_tokens ??
      local?.maxOutputTokens ??
      listed?.maxOutputTokens ??
      family?.maxOutputTokens ??
      null,
    // An unknown model behind a chat endpoint is offered tools: most can, and one that cannot says so at once.
    supportsTools: listed?.supportsTools ?? family?.supportsTools ?? isChatModel(modelId),
    supportsVision:
      listed?.inputModalities?.includes('image') ?? family?.supportsVision ?? isNamedForVision(modelId),
    audioTypes:
      (listed?.inputModalities?.includes('audio') ?? isNamedForAudio(modelId))
        ? audioTypesOf(connection, modelId)
        : [],
  };
}

/** Whether nothing but the defaults would be said of this model. */
export function isUnknown(connection: Connection, modelId: string, settings: Settings): boolean {
  const limits = settings['context_limits.models'];
  const hasOwn = (limits[`${connection.provider}:${modelId}`] ?? limits[modelId]) !== undefined;
  return !hasOwn && connection.kind !== 'lmstudio' && knownTraits(modelId) === null;
}

export function summaryOf(
  connection: Connection,
  listed: ListedModel,
  settings: Settings,
): Static<typeof ModelSummary> {
  const capabilities = capabilitiesOf(connection, listed.id, listed, settings);
  const price = priceOf(connection, listed.id, listed);
  const isTranscriber = /whisper|transcribe/i.test(listed.id);
  const input = listed.inputModalities ?? [
    'text',
    ...(capabilities.supportsVision ? ['image'] : []),
    ...(capabilities.audioTypes.length > 0 ? ['audio'] : []),
  ];
  const output = listed.outputModalities ?? ['text'];
  return {
    id: `${connection.provider}:${listed.id}`,
    name: listed.name,
    provider: connection.provider,
    context_length: capabilities.contextWindow,
    context_window: capabilities.contextWindow,
    max_output_tokens: capabilities.maxOutputTokens,
    supports_tools: capabilities.supportsTools,
    supports_vision: capabilities.supportsVision,
    supports_image: output.includes('image'),
    supports_streaming: true,
    supports_json_mode: listed.supportsJson ?? false,
    supports_speech: output.includes('audio'),
    supports_transcription: isTranscriber,
    cost_per_1k_input: price?.inputPer1k ?? null,
    cost_per_1k_output: price?.outputPer1k ?? null,
    pricing_currency: 'USD',
    input_modalities: [...input],
    output_modalities: [...output],
    description: listed.description,
  };
}
