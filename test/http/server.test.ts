import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { bind } from '../../src/http/route.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge, rawConnection } from './edge.ts';
import { ManualClock } from './manual-clock.ts';

const probe = protocol('probe', {
  read: call({ request: Type.Object({}), reply: Type.Object({ n: Type.Integer() }) }),
});
const bindings = [bind('GET', '/api/probe', probe, 'read')];

/** Answers when the test says so. */
function heldDoor() {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<{ n: number }>();
  const door = new ActorDoorDouble().seat(probe, {
    read: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  return { door, asked: asked.promise, answer: answer.resolve };
}

test('a port of 0 is a free one, and a taken one is refused', async () => {
  const door = new ActorDoorDouble().seat(probe, { read: () => ({ n: 1 }) });
  const { port } = await openEdge(door, bindings);
  expect(port).toBeGreaterThan(0);
  await expect(openEdge(door, bindings, { port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('closing lets a running request finish, and takes no new one', async () => {
  const { door, asked, answer } = heldDoor();
  const { edge, send, url } = await openEdge(door, bindings);
  const running = send('GET', '/api/probe');
  await asked;
  const closed = edge.close();
  await expect.poll(() => fetch(`${url}/api/probe`).catch(() => 'refused')).toBe('refused');
  answer({ n: 7 });
  expect((await running).body).toEqual({ n: 7 });
  await closed;
});

test('closing cuts a request that takes too long', async () => {
  const clock = new ManualClock();
  const { door, asked } = heldDoor();
  const { edge, send } = await openEdge(door, bindings, { clock, closeWithinMs: 4_000 });
  const running = send('GET', '/api/probe').catch(() => 'cut');
  await asked;
  const closed = edge.close();
  clock.advance(4_000);
  await closed;
  expect(await running).toBe('cut');
  expect(clock.timerCount).toBe(0);
});

test('closing does not wait for an idle connection, nor long for half a request', async () => {
  const { edge, port } = await openEdge(heldDoor().door, bindings, { closeWithinMs: 100 });
  for (const text of ['', 'GET /api/pro']) {
    const socket = await rawConnection(port, text);
    socket.resume();
  }
  await edge.close();
});

test('a reader that takes nothing of a long answer is cut off; one that waits for its answer is not', async () => {
  const slow = protocol('slow', {
    wait: call({
      request: Type.Object({ id: Type.String() }),
      reply: Type.Object({ text: Type.String() }),
    }),
  });
  const answered = Promise.withResolvers<{ text: string }>();
  const door = new ActorDoorDouble().seat(slow, {
    wait: ({ id }) => (id === 'long' ? { text: 'x'.repeat(50_000_000) } : answered.promise),
  });
  const { send, port } = await openEdge(door, [bind('GET', '/api/slow/{id}', slow, 'wait')], {
    stallMaxMs: 200,
  });
  const waiting = send('GET', '/api/slow/short');
  const cut = Promise.withResolvers<void>();
  const onSocket = (message: unknown): void =>
    void (message as { socket: Socket }).socket.once('close', () => cut.resolve());
  subscribe('net.server.socket', onSocket);
  onTestFinished(() => void unsubscribe('net.server.socket', onSocket));
  const reader = await rawConnection(port, 'GET /api/slow/long HTTP/1.1\r\nHost: x\r\n\r\n');
  reader.pause();
  await cut.promise;
  answered.resolve({ text: 'at last' });
  expect(await waiting).toMatchObject({ status: 200, body: { text: 'at last' } });
});
