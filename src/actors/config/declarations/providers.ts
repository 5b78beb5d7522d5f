// Settings of the providers: how each is reached, and the model of a turn that names none.

import { Type } from '../../../std/schema.ts';
import {
  Credential,
  map,
  number,
  onPage,
  optionalFlag,
  optionalModelReference,
  optionalSecret,
  optionalText,
  optionalUrl,
  orNull,
  WebAddress,
} from '../setting.ts';

const TIMEOUT_SECONDS = { minimum: 1, maximum: 3600 };

/** An endpoint that speaks the chat-completions protocol, as its user registered it. */
const CustomEndpoint = Type.Object(
  {
    label: Type.String({ minLength: 1, maxLength: 80 }),
    base_url: WebAddress,
    api_key: orNull(Credential),
    /** Sent with every request. */
    headers: Type.Record(
      Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
      Type.String({ pattern: '^[\\x20-\\x7e]*$', maxLength: 2_000 }),
      { maxProperties: 20, additionalProperties: false },
    ),
    enabled: Type.Boolean(),
  },
  { additionalProperties: false },
);

/** The first part of a model reference. */
const ENDPOINT_ID = '^[a-z0-9][a-z0-9_-]{1,31}$';
/** Each is asked for its models when somebody wants to see them all. */
const CUSTOM_ENDPOINTS_MAX = 32;

const key = (name: string, environment: string) =>
  optionalSecret(`Key of ${name}.`, {
    environment,
    tier: 'essential',
    emptyMeans: `${name} is not used`,
  });

const address = (name: string) =>
  optionalUrl(`Other address of ${name}, or of a service that speaks its protocol.`, {
    tier: 'essential',
    emptyMeans: 'the public address of the provider is used',
    why: 'To go through a proxy or a gateway.',
  });

const silence = (name: string, seconds: number) =>
  number(seconds, TIMEOUT_SECONDS, `Longest silence of ${name} before a call is given up.`, {
    unit: 'seconds',
    why: 'Raise it for models that think long before the first word.',
  });

export const providerSettings = onPage('providers', {
  'preferences.default_model': optionalModelReference('Model of a turn that names none.', {
    tier: 'essential',
    emptyMeans:
      'llama3.2 of LM Studio is used where it is there, or else the first model of a provider that is configured',
  }),

  'providers.openrouter.api_key': key('OpenRouter', 'OPENROUTER_API_KEY'),
  'providers.openrouter.base_url': address('OpenRouter'),
  'providers.openrouter.site_url': optionalUrl(
    'Address of the site that OpenRouter credits for the traffic.',
    { tier: 'essential', emptyMeans: 'no site is named' },
  ),
  'providers.openrouter.app_name': optionalText('Name of the app that OpenRouter credits for the traffic.', {
    tier: 'essential',
    emptyMeans: 'no app is named',
  }),
  'providers.openrouter.timeout': silence('OpenRouter', 60),
  'providers.anthropic.api_key': key('Anthropic', 'ANTHROPIC_API_KEY'),
  'providers.anthropic.base_url': address('Anthropic'),
  'providers.anthropic.timeout': silence('Anthropic', 60),
  'providers.openai.api_key': key('OpenAI', 'OPENAI_API_KEY'),
  'providers.openai.base_url': address('OpenAI'),
  'providers.openai.timeout': silence('OpenAI', 60),
  'providers.vercel.api_key': key('the Vercel AI Gateway', 'AI_GATEWAY_API_KEY'),
  'providers.vercel.base_url': address('the Vercel AI Gateway'),
  'providers.vercel.timeout': silence('the Vercel AI Gateway', 60),
  'providers.lmstudio.base_url': optionalUrl('Address of LM Studio.', {
    environment: 'LMSTUDIO_BASE_URL',
    tier: 'essential',
    emptyMeans: 'LM Studio is not used',
  }),
  'providers.lmstudio.timeout': silence('LM Studio', 300),

  'providers.custom': map(
    CustomEndpoint,
    {},
    'Registered endpoints that speak the chat-completions protocol, by id.',
    {
      entriesMax: CUSTOM_ENDPOINTS_MAX,
      expected: `a map of id to endpoint, at most ${CUSTOM_ENDPOINTS_MAX}`,
      names: ENDPOINT_ID,
      writer: 'noun',
      secret: true,
    },
  ),
  'providers.policy.allow_private_endpoints': optionalFlag(
    'Whether an address that a client gives may lead into a private network.',
    {
      emptyMeans: 'it is allowed on a local install, refused on one that is exposed',
      why: 'An exposed service that fetches private addresses is a door into the network behind it.',
    },
  ),
});
