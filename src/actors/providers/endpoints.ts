// Endpoints: what users register beside the built-in providers. Pure: a draft and what is stored make a record or a fault.
// C1 A draft is merged: what it leaves out, or has as null, stays; so nobody has to send a key twice.
// C2 A masked key never comes back as a key.

import type { EgressPolicy } from '../../egress/guard.ts';
import type { Static } from '../../std/schema.ts';
import type { Settings } from '../config/protocol.ts';
import { BUILTIN_PROVIDERS } from './catalogue.ts';
import { type Connection, type EndpointDraft, providerFaults } from './protocol.ts';
import { OFFLINE_PROVIDER } from './routing.ts';

export type Endpoint = Settings['providers.custom'][string];

type Draft = Omit<Static<typeof EndpointDraft>, 'id'>;

const ID = /^[a-z0-9][a-z0-9_-]{1,31}$/;
/** Built-in ids are the left half of a reference already; the others have a meaning in addresses or references. */
const IDS_TAKEN: ReadonlySet<string> = new Set([
  ...BUILTIN_PROVIDERS.map(({ id }) => id),
  ...['custom', 'policy', 'role', OFFLINE_PROVIDER],
]);
const KINDS: ReadonlySet<string> = new Set(['openai_compatible', 'chat_compatible']);
const LABEL_CHARS_MAX = 80;
const ADDRESS_CHARS_MAX = 2_000;
const SECRET_CHARS_MAX = 2_000;
const HEADERS_MAX = 20;
/** They are the transport's own. */
const HEADERS_REFUSED =
  /^(host|connection|content-length|content-type|transfer-encoding|upgrade|te|trailer)$/;

/** As the settings have it for the built-in ones. */
const TIMEOUT_MS = 60_000;
const RETRIES_MAX = 3;

export function endpointId(given: string): string {
  const id = given.trim().toLowerCase();
  if (!ID.test(id)) {
    throw invalid('The id must be 2 to 32 letters, digits, - or _, and begin with a letter or a digit');
  }
  if (IDS_TAKEN.has(id)) throw invalid(`The id ${id} is taken`);
  return id;
}

/** @throws endpoint_invalid */
export function mergeEndpoint(id: string, draft: Draft, stored: Endpoint | null): Endpoint {
  if (draft.kind != null && !KINDS.has(draft.kind))
    throw invalid(`The kind must be one of ${[...KINDS].join(', ')}`);
  return {
    label: readLabel(draft.label ?? stored?.label ?? id, id),
    base_url: readAddress(draft.base_url ?? stored?.base_url ?? ''),
    api_key: readKey(draft.api_key ?? stored?.api_key ?? ''),
    headers:
      draft.headers == null ? (stored?.headers ?? {}) : readHeaders(draft.headers, stored?.headers ?? {}),
    enabled: draft.enabled ?? stored?.enabled ?? true,
  };
}

/** Null for an id that nobody registered. */
export function storedEndpoint(settings: Settings, id: string): Endpoint | null {
  const endpoints = settings['providers.custom'];
  return Object.hasOwn(endpoints, id) ? (endpoints[id] ?? null) : null;
}

export function connectionTo(id: string, endpoint: Endpoint, egress: EgressPolicy): Connection {
  return {
    provider: id,
    kind: 'openai_compatible',
    baseUrl: endpoint.base_url,
    apiKey: endpoint.api_key,
    headers: endpoint.headers,
    timeoutMs: TIMEOUT_MS,
    retriesMax: RETRIES_MAX,
    egress,
  };
}

function readLabel(given: string, id: string): string {
  const label = given.trim() || id;
  if (label.length > LABEL_CHARS_MAX)
    throw invalid(`The label may have ${LABEL_CHARS_MAX} characters at most`);
  return label;
}

function readAddress(given: string): string {
  const address = given.trim();
  if (address === '') throw invalid('base_url is missing');
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url !== null && url.username === '' && url.password === '' && url.search + url.hash === '';
  if (!isPlain || !/^https?:$/.test(url.protocol) || address.length > ADDRESS_CHARS_MAX) {
    throw invalid('base_url must be an http or https address without credentials, query and fragment');
  }
  return url.href.replace(/\/+$/, '');
}

/** C2. */
function readKey(given: string): string | null {
  const key = given.trim();
  if (key === '') return null;
  if (!/^[\x21-\x7e]+$/.test(key) || key.startsWith('***') || key.length > SECRET_CHARS_MAX) {
    throw invalid('api_key must be a key without blanks; leave it out to keep what is stored');
  }
  return key;
}

function readHeaders(
  given: Readonly<Record<string, string | null>>,
  stored: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [spelled, sent] of Object.entries(given)) {
    const name = spelled.trim().toLowerCase();
    const value = sent ?? (Object.hasOwn(stored, name) ? stored[name] : undefined);
    if (value === undefined) continue;
    if (!/^[a-z0-9-]{1,64}$/.test(name) || HEADERS_REFUSED.test(name)) {
      throw invalid(`${JSON.stringify(spelled.slice(0, 64))} cannot be sent as a header`);
    }
    if (!/^[\x20-\x7e]*$/.test(value) || value.length > SECRET_CHARS_MAX) {
      throw invalid(`The header ${name} can only have printable ASCII`);
    }
    headers[name] = value;
  }
  if (Object.keys(headers).length > HEADERS_MAX) throw invalid(`At most ${HEADERS_MAX} headers`);
  return headers;
}

const invalid = (message: string) => providerFaults.endpoint_invalid(message);
