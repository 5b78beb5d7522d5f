import { describe, expect, test } from 'vitest';
import { bind } from '../../src/http/route.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge } from './edge.ts';

const Echo = Type.Record(Type.String(), Type.Unknown());
const probe = protocol('probe', {
  search: call({
    request: Type.Object({
      place: Type.String({ maxLength: 300 }),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
      exact: Type.Optional(Type.Boolean()),
      ratio: Type.Optional(Type.Number()),
      tags: Type.Optional(Type.Array(Type.String())),
      text: Type.Optional(Type.String()),
    }),
    reply: Echo,
  }),
  store: call({
    request: Type.Object({
      id: Type.String(),
      user_id: Type.String(),
      count: Type.Optional(Type.Integer()),
      kind: Type.Optional(Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Null()])),
      nested: Type.Optional(Type.Object({ items: Type.Array(Type.Object({ text: Type.String() })) })),
    }),
    reply: Echo,
  }),
  change: call({ request: Type.Record(Type.String(), Type.Unknown()), reply: Echo }),
  ping: call({ request: Type.Object({}), reply: Echo }),
  slow: call({ request: Type.Object({}), reply: Echo }),
});

const echo = (message: unknown) => message as Record<string, unknown>;
const door = () => new ActorDoorDouble().seat(probe, { search: echo, store: echo, change: echo, ping: echo });

const bindings = [
  bind('GET', '/api/places/{place}/hits', probe, 'search'),
  bind('PUT', '/api/things/{thing_id}', probe, 'store', { params: { thing_id: 'id' }, status: 201 }),
  bind('DELETE', '/api/things/{id}', probe, 'store', { body: true }),
  bind('POST', '/api/change', probe, 'change'),
  bind('POST', '/api/ping', probe, 'ping'),
];

describe('a message of a GET', () => {
  test('takes its named members from the URL and the rest from the query, with the defaults of the schema', async () => {
    const { send } = await openEdge(door(), bindings);
    const { status, body } = await send('GET', '/api/places/caf%C3%A9%20%2F%201/hits?text=5');
    expect(status).toBe(200);
    expect(body).toEqual({ place: 'café / 1', text: '5', limit: 20 });
  });

  test.each([
    ['limit=7', { limit: 7 }],
    ['exact=1', { exact: true }],
    ['exact=true', { exact: true }],
    ['exact=True', { exact: true }],
    ['exact=0', { exact: false }],
    ['exact=false', { exact: false }],
    ['ratio=0.5', { ratio: 0.5 }],
    ['tags=a', { tags: ['a'] }],
    ['tags=a&tags=b', { tags: ['a', 'b'] }],
    ['unknown=1', {}],
  ])('reads ?%s as the types of the schema', async (query, members) => {
    const { send } = await openEdge(door(), bindings);
    const { body } = await send('GET', `/api/places/x/hits?${query}`);
    expect(body).toEqual({ place: 'x', limit: 20, ...members });
  });

  test.each([
    ['limit=many', 'limit must be an integer'],
    ['limit=1.5', 'limit must be an integer'],
    ['limit=', 'limit must be an integer'],
    ['limit=0', 'limit must be >= 1'],
    ['limit=101', 'limit must be <= 100'],
    ['limit=1&limit=2', 'limit must be an integer'],
    ['exact=perhaps', 'exact must be true or false'],
  ])('refuses ?%s with a sentence', async (query, sentence) => {
    const { send } = await openEdge(door(), bindings);
    expect(await send('GET', `/api/places/x/hits?${query}`)).toMatchObject({
      status: 400,
      body: { error: sentence },
    });
  });

  test('carries URL parameters of 200 escaped characters', async () => {
    const { send } = await openEdge(door(), bindings);
    const place = 'ü'.repeat(200);
    expect(
      (await send('GET', `/api/places/${encodeURIComponent(place).slice(0, 600)}/hits`)).body.place,
    ).toBe('ü'.repeat(100));
  });
});

describe('a message of a PUT', () => {
  test('takes the URL parameter under the name that the message has for it, and answers the declared status', async () => {
    const { send } = await openEdge(door(), bindings);
    const { status, body } = await send('PUT', '/api/things/t1', { count: 3, kind: null, stranger: true });
    expect(status).toBe(201);
    expect(body).toEqual({ id: 't1', user_id: 'default', count: 3, kind: null });
  });

  test('never takes the user from the client', async () => {
    const { send } = await openEdge(door(), bindings);
    const { body } = await send('PUT', '/api/things/t1?user_id=root', { user_id: 'root', id: 'other' });
    expect(body).toEqual({ id: 't1', user_id: 'default' });
  });

  test.each([
    [{ count: '3' }, 'count must be an integer'],
    [{ kind: 'c' }, 'kind must be one of: a, b, null'],
    [{ nested: {} }, 'nested.items required'],
    [{ nested: { items: [{ text: 'x' }, { text: 4 }] } }, 'nested.items[1].text must be a text'],
    [[], 'The request body must be an object'],
    ['"text"', 'The request body must be an object'],
  ])('is not coerced: %j is refused', async (body, sentence) => {
    const { send } = await openEdge(door(), bindings);
    expect(await send('PUT', '/api/things/t1', body)).toMatchObject({
      status: 400,
      body: { error: sentence },
    });
  });
});

test('a DELETE may take its message from a body', async () => {
  const { send } = await openEdge(door(), bindings);
  expect((await send('DELETE', '/api/things/t1', { count: 2 })).body).toEqual({
    id: 't1',
    user_id: 'default',
    count: 2,
  });
});

test('a record is its whole body', async () => {
  const { send } = await openEdge(door(), bindings);
  const settings = { chat: { rounds: 3 }, user_id: 'kept: a record has no members of its own' };
  expect((await send('POST', '/api/change', settings)).body).toEqual(settings);
});

test('no body, an empty body and an empty object are the same empty message', async () => {
  const { send } = await openEdge(door(), bindings);
  for (const body of [undefined, '', {}]) {
    expect(await send('POST', '/api/ping', body)).toMatchObject({ status: 200, body: {} });
    expect(await send('POST', '/api/change', body)).toMatchObject({ status: 200, body: {} });
  }
});

test('a HEAD answers as its GET, without the body', async () => {
  const { send } = await openEdge(door(), bindings);
  const { status, body, headers } = await send('HEAD', '/api/places/x/hits');
  expect([status, body, headers.get('content-type')]).toEqual([200, '', 'application/json; charset=utf-8']);
});

test('the wait for a slow answer ends when its client leaves', async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const slow = new ActorDoorDouble().seat(probe, {
    slow: (_message, { signal }) => {
      asked.resolve(signal);
      return new Promise(() => {});
    },
  });
  const { url } = await openEdge(slow, [bind('GET', '/api/slow', probe, 'slow', { deadlineMs: 60_000 })]);
  const client = new AbortController();
  const answer = fetch(`${url}/api/slow`, { signal: client.signal }).catch(() => 'left');
  const signal = await asked.promise;
  client.abort();
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(await answer).toBe('left');
});

test('a URL parameter that the message does not have stops the service at boot', async () => {
  const mistaken = [bind('GET', '/api/things/{nothing}', probe, 'store')];
  await expect(openEdge(door(), mistaken)).rejects.toThrow('has no property nothing');
});
