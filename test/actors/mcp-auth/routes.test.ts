import { expect, test } from 'vitest';
import { mcpAuth } from '../../../src/actors/mcp-auth/protocol.ts';
import { openOAuthMcpServer } from '../../support/oauth-mcp-server.ts';
import { openTroupe } from '../../support/troupe.ts';
import { accountFor, unauthorized } from './auth-system.ts';

const CALLBACK = '/api/mcp/oauth/callback';

test('a browser that comes back is shown a page, whatever it brings', async () => {
  await using app = await openTroupe();
  const remote = await openOAuthMcpServer();
  const account = accountFor(remote.url);
  const auth = app.troupe.system.named(mcpAuth);
  const asked = { account, challenge: unauthorized() };
  const admission = await auth.ask('challenged', asked, { deadlineMs: 60_000 }); // A thread starts for it.
  const page = admission.kind === 'consent' ? admission.authorization_url : '';
  const back = await remote.authorization.consent(page);
  expect(back.origin + back.pathname).toBe(app.url + CALLBACK);

  for (const query of [
    '',
    '?code=a-code',
    '?state=a-state',
    '?code=a-code&state=a-state',
    '?error=x&state=y',
  ]) {
    const shown = await fetch(app.url + CALLBACK + query);
    expect([query, shown.status]).toEqual([query, 400]);
    expect(shown.headers.get('content-type')).toBe('text/html; charset=utf-8');
  }
  const bad = await fetch(`${app.url}${CALLBACK}?error=%3Cscript%3E&state=%3Cscript%3E`);
  expect(await bad.text()).not.toContain('<script>');

  const shown = await fetch(back);
  expect(shown.status).toBe(200);
  expect(await shown.text()).toContain('Signed in');
  expect(shown.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(shown.headers.get('referrer-policy')).toBe('no-referrer');
  expect((await fetch(back)).status).toBe(400);
});
