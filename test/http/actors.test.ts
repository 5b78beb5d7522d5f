// The edge on the real actor system: what only the two together can show.

import { expect, onTestFinished, test } from 'vitest';
import { bind, bindStream } from '../../src/http/route.ts';
import type { SseFrame } from '../../src/http/sse-framing.ts';
import { Fault } from '../../src/std/errors.ts';
import { Type } from '../../src/std/schema.ts';
import { actor } from '../../src/supervisor/actor.ts';
import { child } from '../../src/supervisor/children.ts';
import { call, protocol, stream } from '../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../src/supervisor/system.ts';
import { openEdge, rawConnection } from './edge.ts';

const probe = protocol('probe', {
  read: call({ request: Type.Object({ how: Type.String() }), reply: Type.Object({ n: Type.Integer() }) }),
  tail: stream({
    request: Type.Object({ from: Type.Integer() }),
    reply: Type.Unsafe<readonly SseFrame[]>(Type.Array(Type.Unknown())),
  }),
});

const stopped = Promise.withResolvers<number>();

const probeActor = actor({
  module: import.meta.url,
  exportName: 'probeActor',
  protocol: probe,
  setup: () => ({
    read({ how }) {
      if (how === 'refuse') throw new Fault('probe_refused', 'forbidden', 'Not you.');
      if (how === 'crash') throw new Error('a bug with password=hunter2');
      return { n: 1 };
    },
    async *tail({ from }) {
      let seq = from;
      try {
        while (true) yield [{ seq: ++seq, event: 'count', data: '{}' }];
      } finally {
        stopped.resolve(seq);
      }
    },
  }),
});

async function openProbe() {
  const system = await createActorSystem({
    children: [child(probeActor, undefined, { id: 'probe', name: true, restart: 'permanent' })],
  });
  onTestFinished(() => system.stop());
  const bindings = [
    bind('GET', '/api/probe/{how}', probe, 'read'),
    bind('GET', '/api/nobody/{how}', protocol('nobody', { read: probe.messages.read }), 'read'),
    bindStream('GET', '/api/tail', probe, 'tail'),
  ];
  return openEdge(system, bindings);
}

test('an actor answers, refuses, crashes and answers again', async () => {
  const { send } = await openProbe();
  expect(await send('GET', '/api/probe/well')).toMatchObject({ status: 200, body: { n: 1 } });
  expect(await send('GET', '/api/probe/refuse')).toMatchObject({ status: 403, body: { error: 'Not you.' } });
  const crashed = await send('GET', '/api/probe/crash');
  expect([crashed.status, JSON.stringify(crashed.body)]).toEqual([
    500,
    expect.not.stringContaining('hunter2'),
  ]);
  await expect.poll(async () => (await send('GET', '/api/probe/well')).status).toBe(200);
});

test('an actor that is not there is worth another try', async () => {
  const { send } = await openProbe();
  const { status, headers } = await send('GET', '/api/nobody/well');
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
});

test('a reader that stops and leaves stops the actor that produced for it', async () => {
  const { port } = await openProbe();
  const reader = await rawConnection(port, 'GET /api/tail?from=10 HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => reader.once('readable', resolve));
  expect(String(reader.read())).toContain('id: 11\nevent: count\ndata: {}\n\n');
  reader.destroy();
  expect(await stopped.promise).toBeGreaterThan(11);
});
