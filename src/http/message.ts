// Message: where the members of a binding's message come from, worked out once at boot.
// M1 Every member has exactly one source: URL, query, body, session, or the edge's own reading of the request. Members that the schema does not name are dropped.
// M2 `user_id` comes from the session alone, and no part that a client sees or fills mentions it (see route.ts, O4).

import { assert } from '../std/assert.ts';
import { type JsonSchema, plainSchema } from './json-schema.ts';
import type { Binding, Message, Method } from './route.ts';

const USER_ID = 'user_id';
const BODY_METHODS: ReadonlySet<Method> = new Set(['POST', 'PUT', 'PATCH']);

export interface RequestParts {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

export interface MessageSources {
  /** Schemas of the parts that the message takes something from. */
  readonly params: JsonSchema | undefined;
  readonly querystring: JsonSchema | undefined;
  readonly body: JsonSchema | undefined;
  assemble(parts: RequestParts, userId: string): Message;
}

export function messageSources(binding: Binding): MessageSources {
  const where = `${binding.method} ${binding.url}`;
  const schema = plainSchema(binding.contract.request as JsonSchema);
  const members = schema.properties ?? {};
  const inUrl = urlNames(binding.url).map((name) => {
    const member = binding.params?.[name] ?? name;
    assert(
      members[member] !== undefined,
      `${where}: ${binding.noun}.${binding.message} has no property ${member}`,
    );
    return { name, member };
  });
  const fromBody = BODY_METHODS.has(binding.method) || binding.body === true;
  const taken = new Set([USER_ID, ...(binding.edgeMembers ?? []), ...inUrl.map(({ member }) => member)]);
  const rest = Object.keys(members).filter((member) => !taken.has(member));
  // A record has no named properties: the body is the message.
  const isRecord = schema.properties === undefined;
  assert(
    !isRecord || (fromBody && inUrl.length === 0),
    `${where}: a record is a message only as a whole body`,
  );

  const restSchema = isRecord ? schema : rest.length === 0 ? undefined : part(schema, rest);
  const givesUser = USER_ID in members;
  return {
    params: inUrl.length === 0 ? undefined : paramsPart(members, inUrl),
    querystring: fromBody ? undefined : restSchema,
    body: fromBody ? restSchema : undefined,
    assemble(parts, userId) {
      if (isRecord) return parts.body as Message;
      const message: Record<string, unknown> = {};
      const given = (fromBody ? parts.body : parts.query) as Record<string, unknown> | undefined;
      for (const member of rest) {
        const value = given?.[member];
        if (value !== undefined) message[member] = value;
      }
      for (const { name, member } of inUrl) message[member] = (parts.params as Record<string, unknown>)[name];
      if (givesUser) message[USER_ID] = userId;
      return message;
    },
  };
}

/** `/api/runs/{run_id}/steer` names run_id. */
export function urlNames(url: string): string[] {
  return [...url.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
}

/** The schema of an object with only these members of the whole. */
function part(schema: JsonSchema, members: readonly string[]): JsonSchema {
  const required = members.filter((member) => schema.required?.includes(member));
  return {
    type: 'object',
    properties: Object.fromEntries(
      members.map((member) => [member, schema.properties?.[member] as JsonSchema]),
    ),
    ...(required.length === 0 ? {} : { required }),
  };
}

function paramsPart(
  members: Readonly<Record<string, JsonSchema>>,
  inUrl: readonly { readonly name: string; readonly member: string }[],
): JsonSchema {
  return {
    type: 'object',
    properties: Object.fromEntries(inUrl.map(({ name, member }) => [name, members[member] as JsonSchema])),
    required: inUrl.map(({ name }) => name),
  };
}
