// Registry: all providers with given settings, built in and registered, in the order in which they are offered. Pure.

import type { EgressPolicy } from '../../egress/guard.ts';
import type { Static } from '../../std/schema.ts';
import type { Settings } from '../config/protocol.ts';
import { BUILTIN_PROVIDERS, type BuiltinProvider, connectionOf, howToConfigure } from './catalogue.ts';
import { connectionTo, type Endpoint } from './endpoints.ts';
import type { CatalogEntry, Connection } from './protocol.ts';

export interface RegisteredProvider {
  readonly entry: Static<typeof CatalogEntry>;
  /** Null as long as it is not configured, or is switched off. */
  readonly connection: Connection | null;
  /** What to do to have it. Says nothing about what is set. */
  readonly advice: string;
}

export type Registry = ReadonlyMap<string, RegisteredProvider>;

const MASK = '····';
const SHOWN_CHARS = 4;

/** An exposed install does not follow addresses into the network that it is in, unless it was told to. */
export function egressOf(settings: Settings, isExposed: boolean): EgressPolicy {
  const isPrivateAllowed = settings['providers.policy.allow_private_endpoints'] ?? !isExposed;
  return isPrivateAllowed ? 'private_too' : 'public_only';
}

export function registryOf(settings: Settings, isExposed: boolean): Registry {
  const egress = egressOf(settings, isExposed);
  const endpoints = Object.entries(settings['providers.custom']);
  return new Map([
    ...BUILTIN_PROVIDERS.map((provider) => [provider.id, builtin(provider, settings)] as const),
    ...endpoints.map(([id, endpoint]) => [id, registered(id, endpoint, egress)] as const),
  ]);
}

/** Of those that are configured. */
export function connectionsOf(registry: Registry): ReadonlyMap<string, Connection> {
  const connections = new Map<string, Connection>();
  for (const [id, { connection }] of registry) if (connection !== null) connections.set(id, connection);
  return connections;
}

function builtin(provider: BuiltinProvider, settings: Settings): RegisteredProvider {
  const { id, kind, label, credential, baseUrlDefault } = provider;
  const { apiKey, baseUrl } = provider.configuration(settings);
  const connection = connectionOf(provider, settings);
  return {
    entry: {
      id,
      kind,
      label,
      base_url: baseUrl ?? baseUrlDefault ?? '',
      key_fingerprint: fingerprint(apiKey),
      header_names: Object.keys(connection?.headers ?? {}),
      enabled: true,
      builtin: true,
      credential,
      configured: connection !== null,
    },
    connection,
    advice: howToConfigure(provider),
  };
}

function registered(id: string, endpoint: Endpoint, egress: EgressPolicy): RegisteredProvider {
  const { label, base_url, api_key, headers, enabled } = endpoint;
  return {
    entry: {
      id,
      kind: 'openai_compatible',
      label,
      base_url,
      key_fingerprint: fingerprint(api_key),
      header_names: Object.keys(headers),
      enabled,
      builtin: false,
      // A server at home may want no key: then its address is all that there is.
      credential: api_key === null ? 'base_url' : 'api_key',
      configured: enabled,
    },
    connection: enabled ? connectionTo(id, endpoint, egress) : null,
    advice: 'switched off',
  };
}

function fingerprint(key: string | null): string | null {
  if (key === null) return null;
  return key.length <= SHOWN_CHARS ? MASK : MASK + key.slice(-SHOWN_CHARS);
}
