import swagger from '@fastify/swagger';
import Fastify from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { troupePlugin } from '../../src/http/plugin.ts';
import { bind } from '../../src/http/route.ts';
import { silentLog } from '../../src/std/log.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';

const probe = protocol('probe', {
  store: call({
    request: Type.Object({ count: Type.Integer() }),
    reply: Type.Object({ count: Type.Integer() }),
  }),
});

/** A host with habits of its own. */
async function openHost(prefix = '') {
  const host = Fastify();
  onTestFinished(() => host.close());
  host.setErrorHandler((_error, _request, reply) => reply.code(418).send({ host: 'error' }));
  host.setNotFoundHandler((_request, reply) => reply.code(404).send({ host: 'not found' }));
  await host.register(swagger, {});
  host.post('/text', async (request) => ({ got: request.body }));
  await host.register(troupePlugin, {
    prefix,
    door: new ActorDoorDouble().seat(probe, { store: ({ count }) => ({ count }) }),
    bindings: [bind('POST', '/api/store', probe, 'store')],
    log: silentLog,
    version: '1.2.3',
  });
  const url = await host.listen({ host: '127.0.0.1', port: 0 });
  return async (path: string, body: string, type = 'application/json') => {
    const response = await fetch(url + path, { method: 'POST', headers: { 'content-type': type }, body });
    return [response.status, await response.json()];
  };
}

test("a host's own routes keep their parsers and error replies", async () => {
  const post = await openHost();
  expect(await post('/text', 'hello', 'text/plain')).toEqual([200, { got: 'hello' }]);
  expect(await post('/text', '{broken')).toEqual([418, { host: 'error' }]);
  expect(await post('/api/unknown', '{}')).toEqual([404, { host: 'not found' }]);
});

test.each(['', '/troupe'])(
  'the embedded routes behave as in our own server, under the prefix "%s"',
  async (prefix) => {
    const post = await openHost(prefix);
    const path = `${prefix}/api/store`;
    expect(await post(path, '{"count":3}')).toEqual([200, { count: 3 }]);
    expect(await post(path, '{"count":"3"}')).toEqual([400, { error: 'count must be an integer' }]);
    expect(await post(path, '{broken')).toEqual([400, { error: expect.stringMatching(/^Invalid JSON: /) }]);
    expect(await post(path, 'count=3', 'text/plain')).toEqual([
      415,
      { error: 'Unsupported content type: send application/json' },
    ]);
  },
);
