import type { CallToolResult } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SESSION_IDLE_MS, SESSIONS_MAX, Sessions } from '../../../src/http/mcp/sessions.ts';
import type { ToolOffer } from '../../../src/mcp-server/server.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { ManualClock } from '../manual-clock.ts';

const MINUTE_MS = 60_000;
let clock: ManualClock;
let sessions: Sessions;
/** Answers the calls that are under way. */
let finish: (() => void)[];

beforeEach(() => {
  clock = new ManualClock();
  finish = [];
  const offer: ToolOffer = {
    tools: async () => [],
    call: () =>
      new Promise<CallToolResult>((resolve) => {
        finish.push(() => resolve({ content: [] }));
      }),
  };
  sessions = new Sessions({ clock, random: seededRandom(7), version: '1', offerFor: () => offer });
});
afterEach(() => sessions.closeAll());

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const HANDSHAKE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a-test', version: '1' },
  },
};

async function serve(body: unknown, id: string | null, userId = 'ann'): Promise<Response> {
  const session = id === null ? {} : { 'mcp-session-id': id };
  const request = new Request('http://localhost/mcp', {
    method: 'POST',
    headers: { ...HEADERS, ...session },
  });
  return sessions.serve(request, body, id, userId);
}
async function open(userId?: string): Promise<string> {
  const response = await serve(HANDSHAKE, null, userId);
  await response.text();
  return response.headers.get('mcp-session-id') as string;
}
const ping = (id: string, userId?: string): Promise<Response> =>
  serve({ jsonrpc: '2.0', id: 1, method: 'ping' }, id, userId);
const statusOf = async (response: Promise<Response>): Promise<number> => {
  const { status, body } = await response;
  await body?.cancel();
  return status;
};
/** A call that goes on until it is finished. */
const call = (id: string): Promise<Response> =>
  serve({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'a', arguments: {} } }, id);

test('a session belongs to the user who opened it', async () => {
  const id = await open('ann');
  expect(await statusOf(ping(id, 'ann'))).toBe(200);
  expect(await statusOf(ping(id, 'bob'))).toBe(404);
});

test('a request that is no handshake opens nothing', async () => {
  expect(await statusOf(serve({ jsonrpc: '2.0', id: 1, method: 'ping' }, null))).toBe(400);
  expect(sessions.size).toBe(0);
});

test('a session is forgotten when it was not used for long', async () => {
  const [used, idle] = [await open(), await open()];
  clock.advance(SESSION_IDLE_MS - MINUTE_MS);
  expect(await statusOf(ping(used))).toBe(200);
  clock.advance(2 * MINUTE_MS);
  expect(await statusOf(ping(idle))).toBe(404);
  expect(await statusOf(ping(used))).toBe(200);
});

test('a session with a call under way is in use, however long that takes', async () => {
  const id = await open();
  const response = await call(id);
  await Promise.resolve();
  clock.advance(2 * SESSION_IDLE_MS);
  expect(await statusOf(ping(id))).toBe(200);
  for (const done of finish) done();
  await response.text();
  clock.advance(SESSION_IDLE_MS + MINUTE_MS);
  expect(await statusOf(ping(id))).toBe(404);
});

test('one more than there may be takes the place of the one that is idle for longest', async () => {
  const [busy, idle, next] = [await open(), await open(), await open()];
  const response = await call(busy);
  while (sessions.size < SESSIONS_MAX) await open();
  expect(await statusOf(ping(next))).toBe(200);
  await open();
  expect(sessions.size).toBe(SESSIONS_MAX);
  expect(await statusOf(ping(idle))).toBe(404);
  expect(await statusOf(ping(busy))).toBe(200);
  for (const done of finish) done();
  await response.text();
});

test('a request that is no handshake takes the place of nobody', async () => {
  const idle = await open();
  while (sessions.size < SESSIONS_MAX) await open();
  expect(await statusOf(serve({ jsonrpc: '2.0', id: 1, method: 'ping' }, null))).toBe(400);
  expect(sessions.size).toBe(SESSIONS_MAX);
  expect(await statusOf(ping(idle))).toBe(200);
});
