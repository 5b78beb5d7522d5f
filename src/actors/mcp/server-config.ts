// ServerConfig: what a client sent as the configuration of a server, read, bounded and completed. Pure.
// F1 Whatever was left out, or is null, has its default; what this service does not know is dropped.
// F2 All that is wrong is told at once, each in a sentence that names the member.

import { type Static, Type } from '../../std/schema.ts';
import { validateLeniently } from '../../std/validation.ts';
import {
  type ServerConfig,
  TIMEOUT_SECONDS_DEFAULT,
  TIMEOUT_SECONDS_MAX,
  TRANSPORTS,
  type Transport,
} from './protocol.ts';

/** Stands in a path of the API and before the dot of `server.tool`. */
const NAME = /^[A-Za-z0-9](?:[A-Za-z0-9 ._-]{0,62}[A-Za-z0-9_-])?$/;
/** Signs the tools that are built in. */
const NAME_TAKEN = '_internal';
const NAME_RULE = 'letters, digits, blanks, ".", "_" and "-", at most 64, beginning with a letter or digit';

const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

const TEXT_CHARS_MAX = 8_192;
/** A certificate fits into a variable. */
const VALUE_CHARS_MAX = 32_768;
const LIST_MAX = 200;
const LABEL_CHARS_MAX = 200;

const text = Type.String({ minLength: 1, maxLength: TEXT_CHARS_MAX });
const texts = Type.Array(Type.String({ maxLength: TEXT_CHARS_MAX }), { maxItems: LIST_MAX });
const labels = Type.Array(Type.String({ minLength: 1, maxLength: LABEL_CHARS_MAX }), { maxItems: LIST_MAX });
const Given = Type.Object({
  transport: Type.Optional(Type.Enum([...TRANSPORTS])),
  command: Type.Optional(text),
  args: Type.Optional(texts),
  env: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: VALUE_CHARS_MAX }), { maxProperties: LIST_MAX }),
  ),
  url: Type.Optional(text),
  headers: Type.Optional(
    Type.Record(
      Type.String(),
      Type.String({ pattern: '^[\\x20-\\x7e\\x80-\\xff]*$', maxLength: TEXT_CHARS_MAX }),
      { maxProperties: LIST_MAX },
    ),
  ),
  timeout: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: TIMEOUT_SECONDS_MAX })),
  auto_reconnect: Type.Optional(Type.Boolean()),
  auto_connect: Type.Optional(Type.Boolean()),
  tags: Type.Optional(labels),
  groups: Type.Optional(labels),
  allowed_agent_ids: Type.Optional(labels),
  allowed_tools: Type.Optional(labels),
  blocked_tools: Type.Optional(labels),
  auth: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { maxProperties: 20 })),
});
type Given = Static<typeof Given>;

export type ReadConfig =
  | { readonly ok: true; readonly config: ServerConfig }
  | { readonly ok: false; readonly errors: readonly string[] };

export function readServerConfig(given: unknown): ReadConfig {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    return { ok: false, errors: ['config must be an object'] };
  }
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)); // F1
  const read = validateLeniently(Given, present);
  if (!read.ok) {
    // Several sentences on one member (a pattern, then the record that it is of) say the same.
    const errors = new Map(
      read.problems.map(({ at, message }) => [at, `${memberText(at)} ${message}`.trim()]),
    );
    return { ok: false, errors: [...errors.values()] };
  }
  const config = completed(read.value);
  const errors = contradictions(config);
  return errors.length === 0 ? { ok: true, config } : { ok: false, errors };
}

/** What is wrong with a name; null when it may be one. */
export function nameError(name: unknown): string | null {
  if (typeof name !== 'string' || name === '') return 'name is required';
  return NAME.test(name) && name !== NAME_TAKEN ? null : `name must consist of ${NAME_RULE}`;
}

/** Whether its user may have to sign in. */
export function usesSignIn(config: ServerConfig): boolean {
  return config.auth !== null;
}

function completed(given: Given): ServerConfig {
  return {
    transport: given.transport ?? transportOf(given),
    command: given.command ?? null,
    args: given.args ?? [],
    env: given.env ?? {},
    url: given.url ?? null,
    headers: given.headers ?? {},
    timeout: given.timeout ?? TIMEOUT_SECONDS_DEFAULT,
    auto_reconnect: given.auto_reconnect ?? true,
    auto_connect: given.auto_connect ?? false,
    tags: given.tags ?? [],
    groups: given.groups ?? [],
    allowed_agent_ids: given.allowed_agent_ids ?? null,
    allowed_tools: given.allowed_tools ?? null,
    blocked_tools: given.blocked_tools ?? [],
    auth: given.auth ?? null,
  };
}

/** Files that list servers often leave it out. */
function transportOf({ command, url }: Given): Transport {
  return command === undefined && url !== undefined ? 'streamable_http' : 'stdio';
}

function contradictions({ transport, command, url, auth, env, headers }: ServerConfig): readonly string[] {
  const errors = [
    ...unfitNames('env', env, VARIABLE_NAME, 'variable'),
    ...unfitNames('headers', headers, HEADER_NAME, 'header'),
  ];
  if (transport === 'stdio') {
    if (command === null || command.trim() === '') errors.push('command is required for stdio');
  } else if (url === null) {
    errors.push(`url is required for ${transport}`);
  } else {
    const schemes = transport === 'websocket' ? ['ws:', 'wss:'] : ['http:', 'https:'];
    const address = URL.canParse(url) ? new URL(url) : null;
    if (address === null || !schemes.includes(address.protocol)) {
      errors.push(`url must be a ${schemes.map((scheme) => scheme.slice(0, -1)).join(' or ')} address`);
    } else if (address.username !== '' || address.password !== '') {
      errors.push('url must not hold credentials: headers are the place for them');
    }
  }
  if (auth !== null) {
    if (auth['type'] !== 'oauth') errors.push('auth.type must be oauth');
    if (transport !== 'sse' && transport !== 'streamable_http') {
      errors.push(`auth is for sse and streamable_http, not for ${transport}`);
    }
  }
  return errors;
}

function unfitNames(member: string, values: object, fit: RegExp, what: string): readonly string[] {
  return Object.keys(values)
    .filter((name) => !fit.test(name))
    .map((name) => `${member}: ${JSON.stringify(name.slice(0, LABEL_CHARS_MAX))} is no name of a ${what}`);
}

/** `/env/A B` as `env.A B`. */
function memberText(pointer: string): string {
  return pointer.replace(/^\//, '').replaceAll('/', '.').slice(0, LABEL_CHARS_MAX);
}
