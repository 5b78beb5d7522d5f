// What can go wrong between us and a remote server, over real HTTP.

import { expect, test } from 'vitest';
import { mcpAuth } from '../../../src/actors/mcp-auth/protocol.ts';
import { actor } from '../../../src/supervisor/actor.ts';
import { eventually } from '../../support/eventually.ts';
import { startHttpServer } from '../../support/mcp-http-server.ts';
import { openMcpSessions, remoteServer } from '../../support/mcp-sessions.ts';

test.each([404, 400] as const)(
  'a call that was refused (%i) because the session is lost is made once more, on a new session',
  async (refusal) => {
    const server = await startHttpServer();
    server.refusal = refusal;
    const sessions = await openMcpSessions();
    const session = sessions.open(remoteServer(server.url));
    expect(await session.text('mark', { mark: 'a' })).toBe('session-1');
    server.forgetSessions();
    expect(await session.text('mark', { mark: 'b' })).toBe('session-2');
    expect(server.executed).toEqual(['a', 'b']);
  },
);

test('a call whose connection broke while it was executed is not made again', async () => {
  const server = await startHttpServer();
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(server.url));
  await expect(session.call({ tool: 'break', arguments: { mark: 'c' } })).rejects.toMatchObject({
    code: 'mcp_interrupted',
  });
  expect(server.executed).toEqual(['c']);
});

test('a session that is stopped is ended at the server, too', async () => {
  const server = await startHttpServer();
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(server.url));
  await session.ask('connect', {});
  expect(server.sessions.size).toBe(1);
  await session.stop();
  expect(server.sessions.size).toBe(0);
});

test('a server that asks for a sign-in is waited for, not asked again and again', async () => {
  const server = await startHttpServer();
  server.signedIn = false;
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(server.url));
  expect(await session.ask('connect', {})).toEqual({ kind: 'auth_required' });
  await expect(session.call({ tool: 'mark' })).rejects.toMatchObject({ code: 'mcp_sign_in_required' });
  server.signedIn = true;
  expect(await session.ask('connect', {})).toMatchObject({ kind: 'connected' });
  server.signedIn = false;
  await expect(session.call({ tool: 'mark' })).rejects.toMatchObject({ code: 'mcp_sign_in_required' });
  await eventually(() => session.heard.states.at(-1)?.kind).toBe('auth_required');
});

test('a token that a server says back is in no error', async () => {
  const server = await startHttpServer();
  const sessions = await openMcpSessions();
  const tokens = ['first-secret-token', 'renewed-secret-token'];
  let given = 0;
  const keeper = actor({
    module: import.meta.url,
    exportName: 'keeper',
    protocol: mcpAuth,
    setup: () => ({ accessToken: () => ({ token: tokens[given++ % 2] as string }) }) as never,
  });
  sessions.system.spawn(keeper, undefined, { id: 'mcp-auth', name: true });
  const url = server.url.replace('/mcp', '/rude');
  const session = sessions.open(
    remoteServer(url, { auth: { type: 'oauth' }, headers: { 'x-key': 'a-key' }, auto_reconnect: false }),
  );
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(session.ask('connect', {})).rejects.toMatchObject({
      message: expect.stringContaining('nobody knows Bearer ***'),
    });
  }
  expect(given).toBeGreaterThan(1);
  expect(JSON.stringify(session.heard)).not.toContain('secret-token');
});

test('headers carry the values of variables, and errors do not', async () => {
  const server = await startHttpServer();
  const sessions = await openMcpSessions();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as a configuration has it.
  const headers = { authorization: 'Bearer ${KEY}', 'x-plain': '$$5' };
  const environment = { KEY: 'very-secret-key' };
  const session = sessions.open(remoteServer(server.url, { headers }), { environment });
  await session.ask('connect', {});
  expect(server.lastHeaders).toMatchObject({ authorization: 'Bearer very-secret-key', 'x-plain': '$5' });
  const lost = sessions.open(remoteServer('http://127.0.0.1:9/very-secret-key', { headers }), {
    environment,
  });
  const refused = await lost.ask('connect', {}).catch(({ message }) => message);
  expect(refused).toContain('No connection to');
  expect(refused).not.toContain('very-secret');
});

test.each([
  ['http://169.254.169.254/mcp', 'mcp_config_invalid'],
  ['file:///etc/passwd', 'mcp_config_invalid'],
  ['nonsense', 'mcp_config_invalid'],
])('%s is not connected to', async (url, code) => {
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(url));
  await expect(session.ask('connect', {})).rejects.toMatchObject({ code });
  await eventually(() => session.heard.states.at(-1)?.kind).toBe('error');
});

test('a redirect to another origin is not followed, and an answer without end not read', async () => {
  const server = await startHttpServer();
  const sessions = await openMcpSessions();
  for (const path of ['/elsewhere', '/huge']) {
    const session = sessions.open(remoteServer(server.url.replace('/mcp', path), { auto_reconnect: false }));
    await expect(session.ask('connect', {})).rejects.toMatchObject({ code: 'mcp_connect_failed' });
  }
});

test('a stream that never lasts is not opened again at once, whatever delay its server names', async () => {
  const server = await startHttpServer();
  server.stream = 'brief';
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(server.url));
  for (let call = 0; call < 100; call += 1) await session.text('mark', { mark: 'a' });
  expect(server.streamsAsked).toBeLessThan(20);
});

test('what changed while there was no stream to say it on is found when there is one again', async () => {
  const server = await startHttpServer();
  server.stream = 'open';
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer(server.url));
  await session.ask('connect', {});
  await eventually(() => server.streamsAsked).toBe(1);
  server.tools.push('new');
  server.endStreams();
  await eventually(() => session.heard.catalogues.at(-1)?.tools.map(({ name }) => name)).toContain('new');
});

test('a server that gives no stream any more is asked for its lists now and then', async () => {
  const server = await startHttpServer();
  server.stream = 'open';
  const sessions = await openMcpSessions();
  await sessions.configure({ mcp: { ping_seconds: 1 } });
  const session = sessions.open(remoteServer(server.url));
  await session.ask('connect', {});
  await eventually(() => server.streamsAsked).toBe(1);
  server.stream = 'error';
  server.endStreams();
  await eventually(() => server.streamsAsked).toBe(3);
  server.tools.push('new');
  await eventually(() => session.heard.catalogues.at(-1)?.tools.map(({ name }) => name)).toContain('new');
  expect(server.streamsAsked).toBe(3);
});

test('the transport websocket is refused', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(remoteServer('wss://localhost', { transport: 'websocket' }));
  await expect(session.ask('connect', {})).rejects.toMatchObject({ code: 'mcp_transport_unsupported' });
});
