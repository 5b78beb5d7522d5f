// Settings: the one declaration of every configuration key. Type, default, bounds, secrecy, first value and help of a
// key are written here once; validation, redaction, the effective values and the type `Settings` are derived from it.
// S1 A key is dotted, and its sections are the tree that clients see: `chat.max_tool_rounds` is `{ chat: { max_tool_rounds } }`.
// S2 No key is a prefix of another, so that the tree and the flat map hold the same.

import type { Static } from '../../std/schema.ts';
import {
  customEndpoints,
  flag,
  integer,
  modelLimits,
  number,
  optionalFlag,
  optionalModelReference,
  optionalSecret,
  optionalText,
  optionalUrl,
  roleModel,
  type Setting,
} from './setting.ts';

const TIMEOUT_SECONDS = { minimum: 1, maximum: 3600 };
const PENALTY = { minimum: -2, maximum: 2 };

export const settings = {
  'providers.openrouter.api_key': optionalSecret('Key of OpenRouter.', { environment: 'OPENROUTER_API_KEY' }),
  'providers.openrouter.base_url': optionalUrl('Other address of OpenRouter.'),
  'providers.openrouter.site_url': optionalUrl(
    'Address of the site that OpenRouter credits for the traffic.',
  ),
  'providers.openrouter.app_name': optionalText('Name of the app that OpenRouter credits for the traffic.'),
  'providers.openrouter.timeout': number(60, TIMEOUT_SECONDS, 'Longest silence of OpenRouter, in seconds.'),
  'providers.anthropic.api_key': optionalSecret('Key of Anthropic.', { environment: 'ANTHROPIC_API_KEY' }),
  'providers.anthropic.base_url': optionalUrl('Other address of Anthropic.'),
  'providers.anthropic.timeout': number(60, TIMEOUT_SECONDS, 'Longest silence of Anthropic, in seconds.'),
  'providers.openai.api_key': optionalSecret('Key of OpenAI.', { environment: 'OPENAI_API_KEY' }),
  'providers.openai.base_url': optionalUrl(
    'Other address of OpenAI, or of a service that speaks its protocol.',
  ),
  'providers.openai.timeout': number(60, TIMEOUT_SECONDS, 'Longest silence of OpenAI, in seconds.'),
  'providers.vercel.api_key': optionalSecret('Key of the Vercel AI Gateway.', {
    environment: 'AI_GATEWAY_API_KEY',
  }),
  'providers.vercel.base_url': optionalUrl('Other address of the Vercel AI Gateway.'),
  'providers.vercel.timeout': number(
    60,
    TIMEOUT_SECONDS,
    'Longest silence of the Vercel AI Gateway, in seconds.',
  ),
  'providers.lmstudio.base_url': optionalUrl('Address of LM Studio; it is used when this is set.', {
    environment: 'LMSTUDIO_BASE_URL',
  }),
  'providers.lmstudio.timeout': number(300, TIMEOUT_SECONDS, 'Longest silence of LM Studio, in seconds.'),

  'providers.custom': customEndpoints('Registered endpoints that speak the chat-completions protocol.'),
  'providers.policy.allow_private_endpoints': optionalFlag(
    'Whether a registered endpoint may have a private address; null: only where the API itself is not exposed.',
  ),

  'models.roles.fast_utility': roleModel('Model for quick classification and extraction.'),
  'models.roles.deep_reasoning': roleModel('Model for consolidation and distillation.'),
  'models.roles.summarizer': roleModel('Model for compression and recaps.'),
  'models.fallback_enabled': flag(true, 'Lets another model answer when the requested one is unavailable.'),
  'models.offline_fallback.enabled': flag(
    true,
    'Answers from what is stored here while no provider is configured at all.',
  ),

  'llm_settings.default_temperature': number(
    0.7,
    { minimum: 0, maximum: 2 },
    'Temperature of a turn that names none.',
  ),
  'llm_settings.default_max_tokens': integer(
    4096,
    { minimum: 1, maximum: 2_000_000 },
    'Output limit of a turn that names none, in tokens.',
  ),
  'llm_settings.top_p': number(
    1,
    { minimum: 0, maximum: 1 },
    'Share of the likeliest tokens that are sampled from.',
  ),
  'llm_settings.frequency_penalty': number(0, PENALTY, 'Makes words rarer the more often they were used.'),
  'llm_settings.presence_penalty': number(0, PENALTY, 'Makes words rarer once they were used.'),

  'context_limits.lmstudio.context_window': integer(
    32_768,
    { minimum: 1024, maximum: 1_000_000 },
    'Context window of the models in LM Studio, in tokens.',
  ),
  'context_limits.lmstudio.max_output_tokens': integer(
    8192,
    { minimum: 256, maximum: 131_072 },
    'Output limit of the models in LM Studio, in tokens.',
  ),
  'context_limits.models': modelLimits('Limits of single models, which override what is known about them.'),

  'preferences.default_model': optionalModelReference('Model of a turn that names none.'),
  'preferences.enable_memory_by_default': flag(true, 'Whether a turn that does not say uses memory.'),

  'context.conversation_state_enabled': flag(
    true,
    'Lets the model keep structured notes about a conversation.',
  ),
  'context.rehydrate_max_turns': integer(
    400,
    { minimum: 20, maximum: 2000 },
    'How many stored rows of a conversation a turn starts from.',
  ),

  'chat.max_tool_rounds': integer(
    10,
    { minimum: 1, maximum: 100 },
    'How often a turn may call tools before it has to answer.',
  ),
  'jobs.live_max': integer(4, { minimum: 1, maximum: 64 }, 'Background jobs that run at once.'),
  'chat.auto_continue_on_length': flag(true, 'Continues an answer once that hit its output limit.'),
} as const satisfies Readonly<Record<string, Setting>>;

export type SettingKey = keyof typeof settings;

/** Every setting with its effective value, secrets included. Plain data. */
export type Settings = { readonly [Key in SettingKey]: Static<(typeof settings)[Key]['schema']> };

export const SETTING_KEYS = Object.keys(settings) as readonly SettingKey[];

/** The values that hold where nothing was set. */
export const defaultSettings = Object.fromEntries(
  SETTING_KEYS.map((key) => [key, settings[key].default]),
) as unknown as Settings;
