// Catalogue: the built-in providers, in the order in which they are offered, and how each is reached with given settings.
// A provider is configured when its credential is there: a key, or for LM Studio an address.

import type { Settings } from '../config/protocol.ts';
import { type Connection, OPENROUTER_BASE_URL, type ProviderKind } from './protocol.ts';

export interface BuiltinProvider {
  readonly id: string;
  readonly label: string;
  readonly kind: ProviderKind;
  readonly credential: 'api_key' | 'base_url';
  /** The variable that gives the credential its first value. */
  readonly environment: string;
  /** Null when the address itself is the credential. */
  readonly baseUrlDefault: string | null;
  readonly retriesMax: number;
  readonly configuration: (settings: Settings) => Configuration;
}

interface Configuration {
  readonly apiKey: string | null;
  readonly baseUrl: string | null;
  readonly timeoutSeconds: number;
  readonly headers?: Readonly<Record<string, string | null>>;
}

export const BUILTIN_PROVIDERS: readonly BuiltinProvider[] = [
  {
    id: 'openrouter',
    label: 'OpenRouter',
    kind: 'openrouter',
    credential: 'api_key',
    environment: 'OPENROUTER_API_KEY',
    baseUrlDefault: OPENROUTER_BASE_URL,
    retriesMax: 3,
    configuration: (settings) => ({
      apiKey: settings['providers.openrouter.api_key'],
      baseUrl: settings['providers.openrouter.base_url'],
      timeoutSeconds: settings['providers.openrouter.timeout'],
      headers: {
        'http-referer': settings['providers.openrouter.site_url'],
        'x-title': settings['providers.openrouter.app_name'],
      },
    }),
  },
  {
    id: 'anthropic',
    label: 'Anthropic',
    kind: 'anthropic',
    credential: 'api_key',
    environment: 'ANTHROPIC_API_KEY',
    baseUrlDefault: 'https://api.anthropic.com',
    retriesMax: 3,
    configuration: (settings) => ({
      apiKey: settings['providers.anthropic.api_key'],
      baseUrl: settings['providers.anthropic.base_url'],
      timeoutSeconds: settings['providers.anthropic.timeout'],
    }),
  },
  {
    id: 'openai',
    label: 'OpenAI',
    kind: 'openai_compatible',
    credential: 'api_key',
    environment: 'OPENAI_API_KEY',
    baseUrlDefault: 'https://api.openai.com/v1',
    retriesMax: 3,
    configuration: (settings) => ({
      apiKey: settings['providers.openai.api_key'],
      baseUrl: settings['providers.openai.base_url'],
      timeoutSeconds: settings['providers.openai.timeout'],
    }),
  },
  {
    id: 'vercel',
    label: 'Vercel AI Gateway',
    kind: 'vercel',
    credential: 'api_key',
    environment: 'AI_GATEWAY_API_KEY',
    baseUrlDefault: 'https://ai-gateway.vercel.sh/v1',
    retriesMax: 3,
    configuration: (settings) => ({
      apiKey: settings['providers.vercel.api_key'],
      baseUrl: settings['providers.vercel.base_url'],
      timeoutSeconds: settings['providers.vercel.timeout'],
    }),
  },
  {
    id: 'lmstudio',
    label: 'LM Studio',
    kind: 'lmstudio',
    credential: 'base_url',
    environment: 'LMSTUDIO_BASE_URL',
    baseUrlDefault: null,
    retriesMax: 1,
    configuration: (settings) => ({
      apiKey: null,
      baseUrl: settings['providers.lmstudio.base_url'],
      timeoutSeconds: settings['providers.lmstudio.timeout'],
    }),
  },
];

/** Null when the provider is not configured. */
export function connectionOf(provider: BuiltinProvider, settings: Settings): Connection | null {
  const { apiKey, baseUrl, timeoutSeconds, headers } = provider.configuration(settings);
  const address = baseUrl ?? provider.baseUrlDefault;
  if (address === null || (provider.credential === 'api_key' && apiKey === null)) return null;
  return {
    provider: provider.id,
    kind: provider.kind,
    baseUrl: provider.kind === 'lmstudio' ? withVersion(address) : address,
    apiKey,
    headers: wireHeaders(headers ?? {}),
    timeoutMs: timeoutSeconds * 1000,
    retriesMax: provider.retriesMax,
    egress: 'any',
  };
}

/** What to do to have a provider. Says nothing about what is set. */
export function howToConfigure(provider: BuiltinProvider): string {
  const key = `providers.${provider.id}.${provider.credential}`;
  return `not configured: set ${key} in the settings, or ${provider.environment} before the first start`;
}

/** People give LM Studio's address as the app shows it, without the version. */
function withVersion(address: string): string {
  const url = new URL(address);
  if (url.pathname === '/') url.pathname = '/v1';
  return url.href;
}

function wireHeaders(headers: Readonly<Record<string, string | null>>): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    // A header can hold no more than printable ASCII; an app's name may.
    if (value !== null) sent[name] = value.replace(/[^\x20-\x7e]/g, '?');
  }
  return sent;
}
