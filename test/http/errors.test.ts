import { describe, expect, test } from 'vitest';
import { STATUS_OF_KIND } from '../../src/http/errors.ts';
import { bind } from '../../src/http/route.ts';
import { FAULT_KINDS, Fault, type FaultKind, type FaultOptions } from '../../src/std/errors.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge, rawConnection, recordedLog } from './edge.ts';

const probe = protocol('probe', {
  read: call({ request: Type.Object({}), reply: Type.Object({ count: Type.Integer() }) }),
  store: call({
    request: Type.Object({ text: Type.String() }),
    reply: Type.Object({ length: Type.Integer() }),
  }),
});
const bindings = [bind('GET', '/api/probe', probe, 'read'), bind('POST', '/api/probe', probe, 'store')];
const store = ({ text }: { readonly text: string }) => ({ length: text.length });

const failing = (error: unknown) =>
  new ActorDoorDouble().seat(probe, {
    read: () => {
      throw error;
    },
    store,
  });
const working = () => new ActorDoorDouble().seat(probe, { read: () => ({ count: 1 }), store });
const fault = (kind: FaultKind, options?: FaultOptions) =>
  new Fault('some_code', kind, 'What went wrong.', options);

describe('a fault of an actor', () => {
  test.each(FAULT_KINDS.map((kind) => [kind, STATUS_OF_KIND[kind]] as const))(
    'of kind %s answers %i',
    async (kind, status) => {
      const { send } = await openEdge(failing(fault(kind)), bindings);
      expect(await send('GET', '/api/probe')).toMatchObject({ status, body: { error: 'What went wrong.' } });
    },
  );

  test('adds its details to the body, and its sentence stays the error', async () => {
    const { send } = await openEdge(
      failing(fault('conflict', { details: { code: 'conflict', error: 'no' } })),
      bindings,
    );
    expect((await send('GET', '/api/probe')).body).toEqual({ code: 'conflict', error: 'What went wrong.' });
  });

  test.each([
    [fault('unavailable'), '1'],
    [fault('unavailable', { retryAfterMs: 2500 }), '3'],
    [fault('rate_limited', { retryAfterMs: 60_000 }), '60'],
    [fault('timeout'), null],
    [fault('not_found'), null],
  ])('that may pass says when to come again', async (error, retryAfter) => {
    const { send } = await openEdge(failing(error), bindings);
    expect((await send('GET', '/api/probe')).headers.get('retry-after')).toBe(retryAfter);
  });
});

test('an error that nobody declared is logged, and its text does not reach the client', async () => {
  const { log, lines } = recordedLog();
  const { send } = await openEdge(failing(new Error('password=hunter2')), bindings, { log });
  const { status, body } = await send('GET', '/api/probe');
  expect(status).toBe(500);
  expect(body).toEqual({ error: 'Internal error', request_id: expect.any(String) });
  const line = lines.find(({ level }) => level === 'error');
  expect(line?.fields).toMatchObject({ request_id: body.request_id, route: '/api/probe' });
  expect(line?.fields.detail).toContain('hunter2');
});

test('a reply that does not fit its schema is our own mistake', async () => {
  const unfit = new ActorDoorDouble().seat(probe, { read: () => ({}) as { count: number } });
  const { send } = await openEdge(unfit, bindings);
  expect(await send('GET', '/api/probe')).toMatchObject({ status: 500, body: { error: 'Internal error' } });
});

describe('a request that no actor sees', () => {
  test('to an unknown path answers 404 in JSON, without the query', async () => {
    const { send } = await openEdge(working(), bindings);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const { status, body } = await send(method, '/api/nothing?token=secret', '{broken');
      expect([status, body]).toEqual([404, { error: `No such path: ${method} /api/nothing` }]);
    }
  });

  test('with the wrong method answers 405 and says which are right, whatever its body', async () => {
    const { send } = await openEdge(working(), bindings);
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const { status, body, headers } = await send(method, '/api/probe', '{broken');
      expect([status, body]).toEqual([405, { error: `Method ${method} is not allowed here` }]);
      expect(headers.get('allow')).toBe('GET, HEAD, POST');
    }
  });

  test.each(['{broken', '{"text":', 'undefined', "{'text':'x'}"])(
    'with malformed JSON %s answers 400',
    async (text) => {
      const { send } = await openEdge(working(), bindings);
      const { status, body } = await send('POST', '/api/probe', text);
      expect(status).toBe(400);
      expect(body.error).toMatch(/^Invalid JSON: ./);
    },
  );

  test('that is nested deeper than anybody nests answers 400', async () => {
    const { send } = await openEdge(working(), bindings);
    const nested = (levels: number) =>
      `{"text":"x","more":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    const { status, body } = await send('POST', '/api/probe', nested(101));
    expect(status).toBe(400);
    expect(body.error).toBe('Invalid JSON: nested deeper than 100 levels');
    expect((await send('POST', '/api/probe', nested(100))).status).toBe(200);
  });

  test.each(['{"text":"x","__proto__":{"a":1}}', '{"text":"x","constructor":{"prototype":{"a":1}}}'])(
    'that reaches for the prototype answers 400: %s',
    async (text) => {
      const { send } = await openEdge(working(), bindings);
      expect(await send('POST', '/api/probe', text)).toMatchObject({ status: 400 });
    },
  );

  test('with a member missing names it', async () => {
    const { send } = await openEdge(working(), bindings);
    expect(await send('POST', '/api/probe', {})).toMatchObject({
      status: 400,
      body: { error: 'text required' },
    });
    expect(await send('POST', '/api/probe')).toMatchObject({ status: 400, body: { error: 'text required' } });
  });

  test('with a body over the limit answers 413, announced or not', async () => {
    const { send, url } = await openEdge(working(), bindings, { bodyBytesMax: 1000 });
    expect(await send('POST', '/api/probe', { text: 'x'.repeat(900) })).toMatchObject({ status: 200 });
    const refusal = { status: 413, body: { error: 'The request body is too large' } };
    expect(await send('POST', '/api/probe', { text: 'x'.repeat(1000) })).toMatchObject(refusal);
    const unannounced = new Blob(['"', 'x'.repeat(5000), '"']).stream();
    const response = await fetch(`${url}/api/probe`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: unannounced,
      duplex: 'half',
    });
    expect([response.status, await response.json()]).toEqual([413, refusal.body]);
  });

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'nonsense'])(
    'of content type %s answers 415',
    async (type) => {
      const { send } = await openEdge(working(), bindings);
      const { status, body } = await send('POST', '/api/probe', 'text=x', { 'content-type': type });
      expect([status, body]).toEqual([415, { error: 'Unsupported content type: send application/json' }]);
    },
  );

  test('with a broken escape in its URL answers 400 in JSON', async () => {
    const { port } = await openEdge(working(), bindings);
    const socket = await rawConnection(port, 'GET /api/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    const text = (await socket.setEncoding('utf8').toArray()).join('');
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(text).toMatch(/\{"error":".+"\}/);
  });
});

test('each request leaves one line at debug level, with its route and without its words', async () => {
  const { log, lines } = recordedLog();
  const { send } = await openEdge(working(), bindings, { log });
  await send('POST', '/api/probe?token=secret', { text: 'private' }, { 'x-auth-token': 'secret' });
  const line = lines.find(({ message }) => message === 'request');
  expect(line).toMatchObject({
    level: 'debug',
    fields: { method: 'POST', route: '/api/probe', status: 200 },
  });
  expect(JSON.stringify(lines)).not.toMatch(/secret|private/);
});
