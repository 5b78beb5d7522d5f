// Settings of models: roles, sampling, limits, fallback and budgets.

import { Type } from '../../../std/schema.ts';
import {
  flag,
  integer,
  kept,
  map,
  number,
  onPage,
  operatorOnly,
  optionalNumber,
  optionalTaskModel,
  roleModel,
} from '../setting.ts';

const PENALTY = { minimum: -2, maximum: 2 };
const DOLLARS = { minimum: 0, maximum: 1_000_000 };
const MODEL_LIMITS_MAX = 1_000;
const MODEL_OVERRIDES_MAX = 1_000;

export const ModelLimits = Type.Object(
  {
    context_window: Type.Optional(Type.Integer({ minimum: 1024, maximum: 2_000_000 })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 256, maximum: 200_000 })),
  },
  { additionalProperties: false },
);

const roles = onPage('model-roles', {
  'models.roles.fast_utility': roleModel('Model for quick classification and extraction.', {
    tier: 'essential',
  }),
  'models.roles.deep_reasoning': roleModel('Model for consolidation and distillation.', {
    tier: 'essential',
  }),
  'models.roles.summarizer': roleModel('Model for compression and recaps.', { tier: 'essential' }),
});

const limits = onPage('models', {
  'llm_settings.default_temperature': number(
    0.7,
    { minimum: 0, maximum: 2, step: 0.1 },
    'Temperature of a turn that names none.',
    { tier: 'essential', why: 'Lower is steadier, higher is more varied.' },
  ),
  'llm_settings.default_max_tokens': integer(
    4096,
    { minimum: 1, maximum: 2_000_000 },
    'Output limit of a turn that names none.',
    { unit: 'tokens' },
  ),
  'llm_settings.top_p': number(
    1,
    { minimum: 0, maximum: 1, step: 0.05 },
    'Share of the likeliest tokens that are sampled from.',
  ),
  'llm_settings.frequency_penalty': number(
    0,
    { ...PENALTY, step: 0.1 },
    'Makes words rarer the more often they were used.',
  ),
  'llm_settings.presence_penalty': number(
    0,
    { ...PENALTY, step: 0.1 },
    'Makes words rarer once they were used.',
  ),
  'budgets.daily_usd': optionalNumber(DOLLARS, 'Most that all turns of a day, in UTC, together may cost.', {
    unit: 'USD',
    emptyMeans: 'there is no limit',
    why: 'Stops a loop or a leaked address from spending without end. Costs nobody knows are not counted.',
  }),
  'budgets.per_run_usd': optionalNumber(DOLLARS, 'Most that one turn may cost.', {
    unit: 'USD',
    emptyMeans: 'there is no limit',
    why: 'Stops a turn that calls tools again and again. Costs nobody knows are not counted.',
  }),
  'models.fallback_enabled': flag(true, 'Lets another model answer when the requested one is unavailable.'),
  'models.offline_fallback.enabled': flag(
    true,
    'Answers from what is stored here while no provider is configured at all.',
  ),
  'context_limits.lmstudio.context_window': integer(
    32_768,
    { minimum: 1024, maximum: 1_000_000 },
    'Context window of the models in LM Studio.',
    { unit: 'tokens' },
  ),
  'context_limits.lmstudio.max_output_tokens': integer(
    8192,
    { minimum: 256, maximum: 131_072 },
    'Output limit of the models in LM Studio.',
    { unit: 'tokens' },
  ),
  'context_limits.models': map(
    ModelLimits,
    {},
    'Limits of single models, which override what is known about them.',
    {
      entriesMax: MODEL_LIMITS_MAX,
      expected: 'a map of model to {context_window 1024 to 2000000, max_output_tokens 256 to 200000}',
    },
  ),
  ...kept(
    operatorOnly({
      'models.defaults.chat': optionalTaskModel('Model of a chat where nothing else names one.'),
      'models.defaults.reasoning': optionalTaskModel('Model of reasoning where nothing else names one.'),
      'models.defaults.extraction': optionalTaskModel('Model of extraction where nothing else names one.'),
      'models.overrides': map(
        Type.Record(Type.String(), Type.Unknown(), { maxProperties: 100 }),
        {},
        'What is known better about single models than their providers say.',
        { entriesMax: MODEL_OVERRIDES_MAX, expected: 'a map of model to its properties' },
      ),
    }),
  ),
});

export const modelSettings = { ...roles, ...limits };
