import { afterAll, describe, expect, test } from 'vitest';
import { SIGN_IN_MS_MAX } from '../../../src/actors/mcp-auth/protocol.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { openOAuthMcpServer } from '../../support/oauth-mcp-server.ts';
import { accountFor, consentOf, nameOf, openAuthSystem, unauthorized } from './auth-system.ts';

const HOUR_MS = 3_600_000;
const clock = new ManualClock();
const system = await openAuthSystem({ clock });
afterAll(() => system.close());

const tokenFor = (url: string) => system.auth.ask('accessToken', { account: accountFor(url) });
const refusedWith = (url: string, rejected: string | null) =>
  system.auth.ask('challenged', { account: accountFor(url), challenge: unauthorized({ rejected }) });

test('a token is renewed before it expires, time after time, with the refresh token that came last', async () => {
  const remote = await openOAuthMcpServer();
  const client = await system.signIn(remote);
  for (let round = 1; round <= 3; round += 1) {
    await clock.advance(HOUR_MS - 20_000);
    expect(await system.state(remote.url)).toMatchObject({ expired: false });
    await client.callTool({ name: 'greet' });
    expect(remote.tokens.size).toBe(1 + round);
  }
  expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token', 'refresh_token', 'refresh_token']);
});

test('one refresh does for all that need it at once', async () => {
  const remote = await openOAuthMcpServer();
  const client = await system.signIn(remote);
  await clock.advance(2 * HOUR_MS);
  expect(await system.state(remote.url)).toMatchObject({
    authorized: true,
    expired: true,
    refreshable: true,
  });
  await Promise.all(Array.from({ length: 12 }, () => client.callTool({ name: 'greet' })));
  expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token']);
  expect(remote.tokens.size).toBe(2);
});

test('a token that is refused before its time is renewed, and the requests are made again', async () => {
  const remote = await openOAuthMcpServer();
  const client = await system.signIn(remote);
  await clock.advance(HOUR_MS / 2);
  remote.distrust();
  const answers = await Promise.all(Array.from({ length: 12 }, () => client.callTool({ name: 'greet' })));
  expect(answers).toHaveLength(12);
  expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token']);
});

test('a renewed token that is refused at once takes a new consent, and no further refresh', async () => {
  const remote = await openOAuthMcpServer();
  await system.signIn(remote);
  const { token } = await tokenFor(remote.url);
  const renewed = await refusedWith(remote.url, token);
  expect(renewed).toMatchObject({ kind: 'authorized' });
  const again = renewed.kind === 'authorized' ? renewed.token : null;
  expect(await refusedWith(remote.url, again)).toMatchObject({ kind: 'consent' });
  expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token']);
});

test('who is refused with a token that was replaced meanwhile gets the new one', async () => {
  const remote = await openOAuthMcpServer();
  await system.signIn(remote);
  const { token } = await tokenFor(remote.url);
  expect(await refusedWith(remote.url, 'an-older-one')).toEqual({ kind: 'authorized', token });
  expect(remote.authorization.asked).toEqual(['register', 'authorization_code']);
});

describe('tokens that cannot be renewed', () => {
  test('because the user took the consent back are dropped, and the next consent is asked for', async () => {
    const remote = await openOAuthMcpServer();
    const client = await system.signIn(remote);
    await remote.authorization.revokeGrants();
    await expect(client.callTool({ name: 'greet' })).rejects.toThrow('sign in');
    expect(await system.state(remote.url)).toEqual({
      authorized: false,
      expired: null,
      refreshable: false,
      pending: true,
      error: null,
    });
    expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token!']);
    await system.signIn(remote);
    expect(remote.authorization.asked.slice(3)).toEqual(['authorization_code']);
  });

  test('because the client was forgotten are dropped, and one is registered again, once', async () => {
    const remote = await openOAuthMcpServer();
    const client = await system.signIn(remote);
    await clock.advance(2 * HOUR_MS);
    await remote.authorization.forgetClients();
    await expect(client.callTool({ name: 'greet' })).rejects.toThrow('sign in');
    expect(remote.authorization.asked.slice(2)).toEqual(['refresh_token!', 'register']);
    await system.signIn(remote);
    expect(remote.authorization.asked.slice(4)).toEqual(['authorization_code']);
  });

  test('because there is no refresh token are used until they have expired', async () => {
    const remote = await openOAuthMcpServer({ refreshTokens: false });
    const client = await system.signIn(remote);
    expect(await system.state(remote.url)).toMatchObject({ authorized: true, refreshable: false });
    await clock.advance(HOUR_MS - 20_000);
    await client.callTool({ name: 'greet' });
    await clock.advance(HOUR_MS);
    expect(await tokenFor(remote.url)).toEqual({ token: null });
    expect(consentOf(await system.connect(remote.url))).toBeDefined();
  });

  test('because nobody answers are kept: until then as they are, after that there is none for now', async () => {
    const remote = await openOAuthMcpServer();
    await system.signIn(remote);
    const { token } = await tokenFor(remote.url);
    remote.authorization.isFailing = true;
    await clock.advance(HOUR_MS - 20_000);
    expect(await tokenFor(remote.url)).toEqual({ token });
    await clock.advance(HOUR_MS);
    await expect(tokenFor(remote.url)).rejects.toMatchObject({ code: 'mcp_authorization_unreachable' });
    await expect(refusedWith(remote.url, token)).rejects.toMatchObject({
      code: 'mcp_authorization_unreachable',
      retryable: true,
    });
    expect(await system.state(remote.url)).toMatchObject({ authorized: true, expired: true, error: null });
    remote.authorization.isFailing = false;
    expect((await tokenFor(remote.url)).token).not.toBe(token);
  });
});

test('a sign-in that nobody finishes within ten minutes is over, and the next is a new one', async () => {
  const remote = await openOAuthMcpServer();
  const { authorization_url, flow_id } = consentOf(await system.connect(remote.url));
  const back = await remote.authorization.consent(authorization_url);
  const ended = system.auth.ask(
    'signInEnded',
    { server: nameOf(remote.url), flow_id },
    { deadlineMs: HOUR_MS },
  );
  await clock.advance(SIGN_IN_MS_MAX - 1);
  expect(await system.state(remote.url)).toMatchObject({ pending: true });
  await clock.advance(1);
  const error = 'The sign-in was not finished within ten minutes.';
  expect(await ended).toEqual({ outcome: 'expired', error });
  expect(await system.comeBack(back)).toBe('unknown');
  expect(await system.state(remote.url)).toMatchObject({ authorized: false, pending: false, error });
  await system.signIn(remote);
  expect(await system.state(remote.url)).toMatchObject({ authorized: true, error: null });
});

test('a registration with which nobody came back is not trusted a second time', async () => {
  const remote = await openOAuthMcpServer();
  await system.signIn(remote);
  await remote.authorization.revokeGrants();
  consentOf(await system.connect(remote.url));
  expect(remote.authorization.asked.filter((one) => one === 'register')).toHaveLength(1);
  await clock.advance(SIGN_IN_MS_MAX);
  consentOf(await system.connect(remote.url));
  expect(remote.authorization.asked.filter((one) => one === 'register')).toHaveLength(2);
});
