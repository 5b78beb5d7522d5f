// One URL that answers or streams, as its message says; and failures in another dialect.

import { describe, expect, test } from 'vitest';
import { openaiFailures } from '../../src/http/openai-failures.ts';
import { bindEither } from '../../src/http/route.ts';
import type { SseFrame } from '../../src/http/sse-framing.ts';
import { declareFaults } from '../../src/std/errors.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol, stream } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge } from './edge.ts';

const faults = declareFaults({ thing_busy: 'unavailable' });
const request = Type.Object({ id: Type.String(), live: Type.Optional(Type.Boolean()) });
const probe = protocol('probe-either', {
  show: call({ request, reply: Type.Object({ id: Type.String() }), faults }),
  watch: stream({ request, reply: Type.Unsafe<readonly SseFrame[]>(Type.Array(Type.Unknown())), faults }),
});
const bindings = [
  bindEither('POST', '/v1/things', probe, 'show', {
    stream: 'watch',
    streamsWhen: 'live',
    failures: openaiFailures,
  }),
];

const door = () =>
  new ActorDoorDouble().seat(probe, {
    show: ({ id }) => {
      if (id === 'busy') throw faults.thing_busy('Not now', { retryAfterMs: 3000 });
      return { id };
    },
    watch: async function* ({ id }) {
      if (id === 'busy') throw faults.thing_busy('Not now', { details: { param: 'id' } });
      yield [{ data: '{"n":1}' }, { data: '{"n":2}' }];
      if (id === 'breaking') throw faults.thing_busy('No more');
      if (id === 'broken') throw new Error('a secret of the house');
    },
  });
const post = async (body: unknown) => (await openEdge(door(), bindings)).send('POST', '/v1/things', body);

describe('a route that answers either way', () => {
  test('answers one body', async () => {
    const { status, headers, body } = await post({ id: 'a' });
    expect([status, headers.get('content-type'), body]).toEqual([
      200,
      'application/json; charset=utf-8',
      { id: 'a' },
    ]);
  });

  test('streams when its message says so, as bare data lines where events have no names', async () => {
    const { status, headers, body } = await post({ id: 'a', live: true });
    expect([status, headers.get('content-type'), body]).toEqual([
      200,
      'text/event-stream',
      'data: {"n":1}\n\ndata: {"n":2}\n\n',
    ]);
  });

  test('is described with both', async () => {
    const { body } = await (await openEdge(door(), bindings)).send('GET', '/api/openapi.json');
    const { responses } = body.paths['/v1/things'].post;
    expect(responses['200'].content).toEqual({
      'application/json': {
        schema: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } },
      },
      'text/event-stream': { schema: { type: 'string' } },
    });
    expect(responses['503'].description).toBe('thing_busy');
    expect(responses['503'].content['application/json'].schema.properties.error.required).toContain(
      'message',
    );
  });
});

describe('failures in the dialect of the route', () => {
  test('are worded in it, with the status and the wait of everybody', async () => {
    const { status, headers, body } = await post({ id: 'busy' });
    expect([status, headers.get('retry-after')]).toEqual([503, '3']);
    expect(body).toEqual({
      error: { message: 'Not now', type: 'api_error', param: null, code: 'thing_busy' },
    });
  });

  test('before the first piece of a stream are ordinary answers', async () => {
    const { status, body } = await post({ id: 'busy', live: true });
    expect([status, body.error]).toEqual([
      503,
      { message: 'Not now', type: 'api_error', param: 'id', code: 'thing_busy' },
    ]);
  });

  test('are worded in it for what the schema refuses', async () => {
    const { status, body } = await post({});
    expect([status, body.error]).toEqual([
      400,
      { message: 'id required', type: 'invalid_request_error', param: null, code: 'request_invalid' },
    ]);
  });

  test.each([
    ['breaking', '{"error":{"message":"No more","type":"api_error","param":null,"code":"thing_busy"}}'],
    ['broken', '{"error":{"message":"Internal error","type":"api_error","param":null,"code":null}}'],
  ])('end an open stream: %s', async (id, told) => {
    const { body } = await post({ id, live: true });
    expect(body).toBe(`data: {"n":1}\n\ndata: {"n":2}\n\ndata: ${told}\n\n`);
  });
});
