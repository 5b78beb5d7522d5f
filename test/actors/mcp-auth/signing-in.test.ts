import { expect, test } from 'vitest';
import { openOAuthMcpServer, STATIC_CLIENT } from '../../support/oauth-mcp-server.ts';
import { clientOf, consentOf, openAuthSystem } from './auth-system.ts';

test('a server that asks for it gets a client, a consent and a token, and then its tools can be called', async () => {
  const remote = await openOAuthMcpServer();
  const system = await openAuthSystem();
  const consent = consentOf(await system.connect(remote.url));
  const page = new URL(consent.authorization_url);
  expect(page.origin).toBe(remote.authorization.issuer);
  expect(Object.fromEntries(page.searchParams)).toMatchObject({
    response_type: 'code',
    code_challenge_method: 'S256',
    redirect_uri: 'http://127.0.0.1:12319/api/mcp/oauth/callback',
    resource: remote.url,
    scope: 'mcp:tools offline_access',
  });
  expect(await system.state(remote.url)).toEqual({
    authorized: false,
    expired: null,
    refreshable: false,
    pending: true,
    error: null,
  });

  const back = await remote.authorization.consent(consent.authorization_url);
  const ended = system.auth.ask('signInEnded', { server: 'guarded', flow_id: consent.flow_id });
  expect(await system.comeBack(back)).toBe('signed_in');
  expect(await ended).toEqual({ outcome: 'signed_in', error: null });
  const client = clientOf(await system.connect(remote.url));
  expect(await client.callTool({ name: 'greet' })).toMatchObject({
    content: [{ type: 'text', text: 'hello, whoever signed in' }],
  });
  expect(await system.state(remote.url)).toEqual({
    authorized: true,
    expired: false,
    refreshable: true,
    pending: false,
    error: null,
  });
  expect(remote.authorization.asked).toEqual(['register', 'authorization_code']);
});
