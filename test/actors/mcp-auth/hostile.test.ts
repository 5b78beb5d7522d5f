// What a server says about where to sign in comes from whoever runs it.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { openOAuthMcpServer } from '../../support/oauth-mcp-server.ts';
import { accountFor, nameOf, openAuthSystem, unauthorized } from './auth-system.ts';

const system = await openAuthSystem();
afterAll(() => system.close());

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of a few lines; answers where it is, and what it was asked for. */
async function serve(answer: Answer): Promise<{ readonly origin: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

/** Why there is no consent for a server that says this. */
async function refusal(url: string, resource_metadata: string | null = null): Promise<string> {
  const challenge = unauthorized({ resource_metadata });
  const admission = await system.auth
    .ask('challenged', { account: accountFor(url), challenge })
    .catch((error: Error) => error.message);
  const { error, pending } = await system.state(url);
  expect(pending).toBe(false);
  expect(admission).toBe(error);
  return error ?? '';
}

const json =
  (body: unknown): Answer =>
  (_request, response) =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(body));

const METADATA = {
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  token_endpoint_auth_methods_supported: ['none'],
};

/** An authorization server that says this of itself, and registers whoever comes. */
function authorizing(of: (origin: string) => object): Answer {
  return (request, response) => {
    const origin = `http://${request.headers.host}`;
    const usual = {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      registration_endpoint: `${origin}/register`,
      ...METADATA,
      ...of(origin),
    };
    if (request.url?.startsWith('/.well-known/')) json(usual)(request, response);
    else if (request.url === '/register')
      json({ client_id: 'c', redirect_uris: ['http://127.0.0.1/'] })(request, response);
    else response.writeHead(404).end();
  };
}

describe('an address that it names is not asked', () => {
  test.each([
    ['in the network of this machine', 'http://10.0.0.1/', 'plain http'],
    ['in the network of this machine, over https', 'https://10.0.0.1/', 'address not allowed'],
    ['of the metadata service of a cloud', 'https://169.254.169.254/', 'address not allowed'],
    ['in the network of this machine, in other words', 'https://[::ffff:10.0.0.1]/', 'address not allowed'],
    ['outside, over plain http', 'http://authorization.example/', 'plain http'],
  ])('%s', async (_where, authorizationServer, reason) => {
    const remote = await openOAuthMcpServer({
      metadata: (usual) => ({ ...usual, authorization_servers: [authorizationServer] }),
    });
    expect(await refusal(remote.url)).toContain(reason);
  });

  test('as the place of its metadata', async () => {
    const remote = await openOAuthMcpServer();
    expect(await refusal(remote.url, 'https://192.168.1.1/metadata')).toContain('address not allowed');
    expect(await refusal(remote.url, 'file:///etc/passwd')).toContain('plain http');
  });

  test('on this machine, when it is not on it itself', async () => {
    const inside = await serve(json({}));
    expect(await refusal('https://8.8.8.8/mcp', `${inside.origin}/metadata`)).toContain(
      'address not allowed',
    );
    expect(inside.asked).toEqual([]);
  });

  test('by way of a redirect', async () => {
    const inside = await serve(json({}));
    const remote = await openOAuthMcpServer();
    const redirecting = await serve((_request, response) => {
      response.writeHead(302, { location: `${inside.origin}/secret` }).end();
    });
    await refusal(remote.url, `${redirecting.origin}/metadata`);
    expect(inside.asked).toEqual([]);
  });

  test('in a browser', async () => {
    for (const page of ['http://10.0.0.1/authorize', 'https://10.0.0.1/authorize', 'javascript:alert(1)']) {
      const authorization = await serve(authorizing(() => ({ authorization_endpoint: page })));
      const remote = await openOAuthMcpServer({
        metadata: (usual) => ({ ...usual, authorization_servers: [authorization.origin] }),
      });
      expect([page, await refusal(remote.url)]).toEqual([
        page,
        expect.stringMatching(/not allowed|no sense/),
      ]);
    }
  });
});

describe('a document is not believed', () => {
  test('that speaks for another server', async () => {
    for (const resource of ['https://bank.example/mcp', 'not a url']) {
      const remote = await openOAuthMcpServer({ metadata: (usual) => ({ ...usual, resource }) });
      expect(await refusal(remote.url)).toMatch(/another server|registers?/);
      expect(remote.authorization.asked).toEqual([]);
    }
  });

  test('that goes by another name than the one it was found under', async () => {
    const authorization = await serve(authorizing(() => ({ issuer: 'https://accounts.example' })));
    const remote = await openOAuthMcpServer({
      metadata: (usual) => ({ ...usual, authorization_servers: [authorization.origin] }),
    });
    expect(await refusal(remote.url)).toContain('another name');
    expect(authorization.asked.some((one) => one.startsWith('POST'))).toBe(false);
  });

  test('that has no end', async () => {
    const remote = await openOAuthMcpServer({ metadata: () => JSON.stringify({ x: 'x'.repeat(300_000) }) });
    expect(await refusal(remote.url)).toContain('too large');
  });

  test('that does not do PKCE', async () => {
    const authorization = await serve(authorizing(() => ({ code_challenge_methods_supported: ['plain'] })));
    const remote = await openOAuthMcpServer({
      metadata: (usual) => ({ ...usual, authorization_servers: [authorization.origin] }),
    });
    expect(await refusal(remote.url)).toContain('makes no sense');
  });
});

test('no word of the other side gets into an error', async () => {
  const remote = await openOAuthMcpServer({ metadata: () => '{"resource": "<script>marker</script>", ' });
  expect(await refusal(remote.url)).not.toContain('marker');
});

test('a token endpoint that redirects gets nothing more, and leaves no token', async () => {
  const inside = await serve(json({ access_token: 'x', token_type: 'bearer' }));
  const authorization = await serve((request, response) => {
    if (request.url !== '/token') return authorizing(() => ({}))(request, response);
    response.writeHead(307, { location: `${inside.origin}/token` }).end();
  });
  const remote = await openOAuthMcpServer({
    metadata: (usual) => ({ ...usual, authorization_servers: [authorization.origin] }),
  });
  const account = accountFor(remote.url);
  const admission = await system.auth.ask('challenged', { account, challenge: unauthorized() });
  const page = new URL(admission.kind === 'consent' ? admission.authorization_url : '');
  const arrival = { code: 'a-code', state: page.searchParams.get('state') ?? '' };
  expect(await system.auth.ask('settleSignIn', arrival)).toEqual({ outcome: 'failed' });
  expect((await system.state(remote.url)).error).toContain('redirected');
  expect(inside.asked).toEqual([]);
});

test('credentials of a server that now names another authorization server are not shown to that one', async () => {
  let names = '';
  const remote = await openOAuthMcpServer({
    metadata: (usual) => (names === '' ? usual : { ...usual, authorization_servers: [names] }),
  });
  await system.signIn(remote);
  const other = await serve(authorizing(() => ({})));
  names = other.origin;
  const { token } = await system.auth.ask('accessToken', { account: accountFor(remote.url) });
  await remote.authorization.revokeGrants();
  const challenge = unauthorized({ rejected: token });
  await system.auth.ask('challenged', { account: accountFor(remote.url), challenge });
  expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token!']);
  expect(other.asked.filter((one) => one.startsWith('POST'))).toEqual(['POST /register']);
  expect(await system.auth.ask('cancel', { server: nameOf(remote.url) })).toEqual({ cancelled: true });
});
