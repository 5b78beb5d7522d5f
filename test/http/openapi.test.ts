import { describe, expect, test } from 'vitest';
import { bind, bindStream } from '../../src/http/route.ts';
import { routeTable } from '../../src/http/routes/table.ts';
import type { SseFrame } from '../../src/http/sse-framing.ts';
import { declareFaults } from '../../src/std/errors.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol, stream } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge } from './edge.ts';

// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document is what it says it is.
type Json = any;

const faults = declareFaults({ thing_unknown: 'not_found', thing_gone: 'not_found', thing_busy: 'conflict' });
const probe = protocol('probe-things', {
  change: call({
    summary: 'Changes a thing.',
    request: Type.Object({
      id: Type.String({ maxLength: 36 }),
      user_id: Type.String(),
      colour: Type.Union([Type.Literal('red'), Type.Literal('blue'), Type.Null()]),
      note: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    }),
    reply: Type.Object({ id: Type.String(), extra: Type.Record(Type.String(), Type.Unknown()) }),
    faults,
  }),
  find: call({
    request: Type.Object({ user_id: Type.String(), limit: Type.Optional(Type.Integer({ default: 20 })) }),
    reply: Type.Object({}),
  }),
  tail: stream({
    request: Type.Object({ id: Type.String(), after: Type.Optional(Type.Integer()) }),
    reply: Type.Unsafe<readonly SseFrame[]>(Type.Array(Type.Unknown())),
  }),
});
const bindings = [
  bind('PUT', '/api/things/{id}', probe, 'change', { status: 202 }),
  bind('PATCH', '/api/things/{id}', probe, 'change', { tag: 'Things' }),
  bind('GET', '/api/things', probe, 'find'),
  bindStream('GET', '/api/things/{id}/events', probe, 'tail', { cursor: 'after' }),
];

/** Bound to no message: a protocol of its own behind one path. */
const MCP_OPERATIONS = ['POST /mcp', 'GET /mcp', 'DELETE /mcp'];

const describedBy = async (bound: typeof routeTable): Promise<Json> =>
  (await (await openEdge(new ActorDoorDouble(), bound)).send('GET', '/api/openapi.json')).body;

describe('the description of a route', () => {
  test('has the message as parameters and body, without the user', async () => {
    const { put } = (await describedBy(bindings)).paths['/api/things/{id}'];
    expect(put).toMatchObject({
      summary: 'Changes a thing.',
      tags: ['probe-things'],
      operationId: 'probe_things_change',
    });
    expect(put.parameters).toEqual([
      { in: 'path', name: 'id', required: true, schema: { type: 'string', maxLength: 36 } },
    ]);
    expect(put.requestBody.content['application/json'].schema).toEqual({
      type: 'object',
      required: ['colour'],
      properties: {
        colour: { type: 'string', enum: ['red', 'blue', null], nullable: true },
        note: { type: 'string', nullable: true },
      },
    });
  });

  test('has the reply under its status, and each declared fault under the status of its kind', async () => {
    const { responses } = (await describedBy(bindings)).paths['/api/things/{id}'].put;
    expect(Object.keys(responses).sort()).toEqual(['202', '404', '409', 'default']);
    expect(responses['202'].content['application/json'].schema.properties.extra).toEqual({
      type: 'object',
      additionalProperties: {},
    });
    expect(responses['404'].description).toBe('thing_unknown, thing_gone');
    expect(responses['409'].content['application/json'].schema.required).toEqual(['error']);
  });

  test('tells the second route to the same message by its method', async () => {
    const { patch } = (await describedBy(bindings)).paths['/api/things/{id}'];
    expect(patch).toMatchObject({ operationId: 'probe_things_change_patch', tags: ['Things'] });
  });

  test('of a GET has the query with its defaults', async () => {
    const { get } = (await describedBy(bindings)).paths['/api/things'];
    expect(get.parameters).toEqual([
      { in: 'query', name: 'limit', required: false, schema: { type: 'integer', default: 20 } },
    ]);
  });

  test('of a stream has its content type and where to go on', async () => {
    const { get } = (await describedBy(bindings)).paths['/api/things/{id}/events'];
    expect(Object.keys(get.responses['200'].content)).toEqual(['text/event-stream']);
    expect(get.parameters.map(({ in: where, name }: Json) => `${where} ${name}`)).toEqual(
      expect.arrayContaining(['path id', 'query after', 'header last-event-id']),
    );
  });
});

describe('the description of the API', () => {
  test('publishes what is bound, under the same names, and nothing else', async () => {
    const { paths } = await describedBy(routeTable);
    const published = Object.entries<object>(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const bound = routeTable.map(({ method, url }) => `${method} ${url}`);
    expect(published.sort()).toEqual([...bound, ...MCP_OPERATIONS].sort());
  });

  test('is OpenAPI 3.0: each schema in its dialect, each path parameter declared, each response described', async () => {
    const document = await describedBy(routeTable);
    expect(document).toMatchObject({ openapi: '3.0.3', info: { title: 'Troupe', version: '1.2.3' } });
    const operationIds = new Set<string>();
    for (const [path, item] of Object.entries<Json>(document.paths)) {
      for (const operation of Object.values<Json>(item)) {
        expect(operationIds).not.toContain(operation.operationId);
        operationIds.add(operation.operationId);
        const inPath = (operation.parameters ?? [])
          .filter((one: Json) => one.in === 'path')
          .map((one: Json) => one.name);
        expect(inPath).toEqual([...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]));
        for (const parameter of operation.parameters ?? []) expectSchema(parameter.schema, path);
        for (const media of Object.values<Json>(operation.requestBody?.content ?? {}))
          expectSchema(media.schema, path);
        for (const response of Object.values<Json>(operation.responses)) {
          expect(response.description).toEqual(expect.any(String));
          for (const media of Object.values<Json>(response.content ?? {})) expectSchema(media.schema, path);
        }
      }
    }
    expect(operationIds.size).toBe(routeTable.length + MCP_OPERATIONS.length);
  });
});

const KEYWORDS = new Set(
  (
    'type properties required items anyOf allOf oneOf enum nullable additionalProperties default description format ' +
    'pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems uniqueItems ' +
    'minProperties maxProperties title example'
  ).split(' '),
);
const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object', undefined];

/** OpenAPI 3.0 knows fewer keywords than JSON Schema, and no `null` type. */
function expectSchema(schema: Json, where: string): void {
  expect(schema, where).toBeTypeOf('object');
  for (const keyword of Object.keys(schema)) expect(KEYWORDS, `${where}: ${keyword}`).toContain(keyword);
  expect(TYPES, where).toContain(schema.type);
  if (schema.type === 'array') expectSchema(schema.items, where);
  if (schema.nullable === true) expect(schema.type, where).toBeDefined();
  for (const member of Object.values<Json>(schema.properties ?? {})) expectSchema(member, where);
  for (const branch of [...(schema.anyOf ?? []), ...(schema.allOf ?? [])]) expectSchema(branch, where);
  if (typeof schema.additionalProperties === 'object') expectSchema(schema.additionalProperties, where);
}

test('the page at /api/docs and everything that it loads come from the service itself', async () => {
  const { send } = await openEdge(new ActorDoorDouble(), bindings);
  const page = await send('GET', '/api/docs');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const references = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    (match: RegExpMatchArray) => match[1] as string,
  );
  expect(references.length).toBeGreaterThan(3);
  for (const reference of references) {
    expect(reference).not.toMatch(/^(https?:)?\/\//);
    const path = new URL(reference, 'http://x/api/docs').pathname;
    expect([path, (await send('GET', path)).status]).toEqual([path, 200]);
  }
  expect((await send('GET', '/api/docs/json')).body.paths).toHaveProperty('/api/things');
});
