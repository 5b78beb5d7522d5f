// Signing in as a client does it: configure, connect, consent in a browser, look again until it is connected.

import { expect, test, vi } from 'vitest';
import { type OAuthMcpServer, openOAuthMcpServer, STATIC_CLIENT } from '../../support/oauth-mcp-server.ts';
import { spawnService } from '../../support/service-process.ts';
import { folderOfThisTest } from '../../support/storage.ts';
import { openTroupe, type ServiceClient } from '../../support/troupe.ts';

/** A machine that is busy with other things takes its time to load what a sign-in needs. */
const PATIENCE = { timeout: 100_000, interval: 50 };
vi.setConfig({ testTimeout: 300_000 });

const NAME = 'guarded';

const eventually = (read: () => unknown) => expect.poll(read, PATIENCE);

async function configure(app: ServiceClient, { url }: OAuthMcpServer, auth: object = {}): Promise<void> {
  const config = { transport: 'streamable_http', url, auth: { type: 'oauth', scope: 'mcp:tools', ...auth } };
  const { status } = await app.call('POST', '/api/mcp/servers', { name: NAME, config });
  expect(status).toBe(201);
}

/** The page of consent. A busy machine may need longer than a connect waits for it; the next one finds it then. */
async function connect(app: ServiceClient): Promise<string> {
  let answer: unknown;
  await eventually(async () => {
    const { status, body } = await app.call('POST', '/api/mcp/connect', { server: NAME });
    answer = body;
    return status;
  }).toBe(202);
  expect(answer).toEqual({ status: 'auth_required', server: NAME, authorization_url: expect.any(String) });
  return (answer as { readonly authorization_url: string }).authorization_url;
}

async function server(app: ServiceClient) {
  const { body } = await app.call('GET', '/api/mcp/servers');
  return body.servers[0];
}

const becomesConnected = (app: ServiceClient) =>
  eventually(async () => (await server(app)).status).toBe('connected');

test('a server is signed in to while its connect goes on, and stays so', async () => {
  await using app = await openTroupe();
  const remote = await openOAuthMcpServer();
  await configure(app, remote);
  const page = await connect(app);
  expect(await server(app)).toMatchObject({
    status: 'auth_required',
    auth_state: { authorized: false, pending: true, error: null },
  });

  const shown = await fetch(await remote.authorization.consent(page));
  expect([shown.status, await shown.text()]).toEqual([200, expect.stringContaining('Signed in')]);
  await eventually(() => server(app)).toMatchObject({
    status: 'connected',
    auto_connect: true,
    tools_count: 2,
    auth_state: { authorized: true, expired: false, refreshable: true, pending: false, error: null },
  });

  await app.restart();
  await becomesConnected(app);
  expect(remote.authorization.asked.filter((one) => one !== 'register')).toEqual(['authorization_code']);

  const answers = JSON.stringify([
    await app.call('GET', '/api/mcp/servers'),
    await app.call('GET', '/api/config'),
  ]);
  for (const token of remote.authorization.given) expect(answers).not.toContain(token);

  const reset = await app.call('POST', `/api/mcp/servers/${NAME}/auth/reset`);
  expect([reset.status, reset.body]).toEqual([200, { status: 'reset', server: NAME, cleared: true }]);
  expect(await server(app)).toMatchObject({ auth_state: { authorized: false, pending: false, error: null } });
  await connect(app);
});

test('the secret of a client may be a variable, and a refusal is shown until the next attempt', async () => {
  const environment = { SECRET_OF_TROUPE: STATIC_CLIENT.secret };
  await using app = await openTroupe({ service: { environment } });
  const remote = await openOAuthMcpServer({ registration: false });
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is resolved by the session.
  await configure(app, remote, { client_id: STATIC_CLIENT.id, client_secret: '${SECRET_OF_TROUPE}' });
  const refused = await fetch(await remote.authorization.consent(await connect(app), { deny: true }));
  expect(refused.status).toBe(400);
  const error = 'Access was not granted.';
  await eventually(async () => (await server(app)).auth_state).toMatchObject({ pending: false, error });

  await fetch(await remote.authorization.consent(await connect(app)));
  await becomesConnected(app);
  expect((await server(app)).auth_state.error).toBeNull();
});

test('a sign-in is cancelled once, keeps the page from working, and is no error', async () => {
  await using app = await openTroupe();
  const remote = await openOAuthMcpServer();
  await configure(app, remote);
  const back = await remote.authorization.consent(await connect(app));
  const cancel = async () => (await app.call('POST', `/api/mcp/servers/${NAME}/auth/cancel`)).body;
  expect(await cancel()).toEqual({ status: 'cancelled', server: NAME, cancelled: true });
  expect(await cancel()).toEqual({ status: 'cancelled', server: NAME, cancelled: false });
  expect((await fetch(back)).status).toBe(400);
  expect((await server(app)).auth_state).toMatchObject({ authorized: false, pending: false, error: null });
  for (const what of ['reset', 'cancel']) {
    expect((await app.call('POST', `/api/mcp/servers/nobody/auth/${what}`)).status).toBe(404);
  }
});

test('a service that is killed in the middle of a sign-in begins anew, and says nothing of tokens', async () => {
  const dataDir = await folderOfThisTest();
  const remote = await openOAuthMcpServer();
  const first = spawnService({ dataDir });
  await first.ready();
  await configure(first, remote);
  const back = await remote.authorization.consent(await connect(first));
  await first.kill();

  await using second = spawnService({ dataDir, environment: { SVC_LOG_LEVEL: 'debug' } });
  await second.ready();
  const late = new URL(back.pathname + back.search, second.url);
  expect((await fetch(late)).status).toBe(400);
  expect((await server(second)).auth_state).toMatchObject({ authorized: false, pending: false });
  await fetch(await remote.authorization.consent(await connect(second)));
  await becomesConnected(second);
  const said = second.stdout + second.stderr;
  expect(said).toContain('signed in to a server');
  for (const token of remote.authorization.given) expect(said).not.toContain(token);
});
