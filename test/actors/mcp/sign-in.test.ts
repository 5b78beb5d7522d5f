// Servers that are signed in to, through the API alone: a real authorization server, a real MCP server behind it, a browser that
// agrees.

import { expect, test, vi } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { openOAuthMcpServer } from '../../support/oauth-mcp-server.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

// It starts two servers, and the service twice: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const server = async (app: TestTroupe) => (await app.call('GET', '/api/mcp/servers/remote')).body;

async function addRemote(app: TestTroupe, url: string): Promise<void> {
  const config = { transport: 'streamable_http', url, auth: { type: 'oauth' } };
  expect((await app.call('POST', '/api/mcp/servers', { name: 'remote', config })).status).toBe(201);
}

const connect = (app: TestTroupe) => app.call('POST', '/api/mcp/connect', { server: 'remote' });

/** Answers the page to sign in at. On a busy machine the server may not have said so in time; then it is asked again. */
async function connectPending(app: TestTroupe): Promise<{ readonly authorization_url: string }> {
  let answer = await connect(app);
  await eventually(async () => {
    if (answer.status !== 202) answer = await connect(app);
    return answer.status;
  }).toBe(202);
  return answer.body;
}

test('a server that wants a sign-in is connected behind it, is found again after a restart, and is forgotten by a reset', async () => {
  const remote = await openOAuthMcpServer();
  await using app = await openTroupe({ offline: true });
  await addRemote(app, remote.url);
  expect((await server(app)).auth_state).toMatchObject({ authorized: false, pending: false, error: null });

  const pending = await connectPending(app);
  expect(pending).toEqual({
    status: 'auth_required',
    server: 'remote',
    authorization_url: expect.stringContaining(remote.authorization.issuer),
  });
  expect(await server(app)).toMatchObject({
    status: 'auth_required',
    auto_connect: false,
    auth_state: { pending: true },
  });

  const callback = await remote.authorization.consent(pending.authorization_url);
  expect((await fetch(callback)).status).toBe(200);
  await eventually(async () => (await server(app)).status).toBe('connected');
  await eventually(async () => (await server(app)).auto_connect).toBe(true);
  expect((await server(app)).auth_state).toMatchObject({ authorized: true, pending: false });
  expect((await app.call('GET', '/api/mcp/tools')).body.count).toBeGreaterThan(0);

  await app.restart();
  await eventually(async () => (await server(app)).status).toBe('connected');
  expect((await connect(app)).status).toBe(200);

  expect((await app.call('POST', '/api/mcp/servers/remote/auth/reset')).body).toEqual({
    status: 'reset',
    server: 'remote',
    cleared: true,
  });
  expect(await server(app)).toMatchObject({ status: 'disconnected', auth_state: { authorized: false } });
  expect(await connectPending(app)).toMatchObject({ status: 'auth_required' });
});

test('a sign-in that is cancelled stays undone, whatever its page says later', async () => {
  const remote = await openOAuthMcpServer();
  await using app = await openTroupe({ offline: true });
  await addRemote(app, remote.url);
  const { authorization_url } = await connectPending(app);
  const cancel = () => app.call('POST', '/api/mcp/servers/remote/auth/cancel');
  expect((await cancel()).body).toEqual({ status: 'cancelled', server: 'remote', cancelled: true });
  expect((await cancel()).body.cancelled).toBe(false);
  const late = await fetch(await remote.authorization.consent(authorization_url));
  expect(late.status).toBe(400);
  const { status: now, auto_connect, auth_state } = await server(app);
  expect(now).not.toBe('connected');
  expect({ auto_connect, auth_state }).toMatchObject({
    auto_connect: false,
    auth_state: { authorized: false, pending: false },
  });
  for (const path of ['reset', 'cancel']) {
    expect((await app.call('POST', `/api/mcp/servers/nobody/auth/${path}`)).status).toBe(404);
  }
});
