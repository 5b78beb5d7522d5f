import { afterAll, describe, expect, test } from 'vitest';
import { openOAuthMcpServer, STATIC_CLIENT } from '../../support/oauth-mcp-server.ts';
import { accountFor, clientOf, consentOf, nameOf, openAuthSystem, unauthorized } from './auth-system.ts';

const system = await openAuthSystem();
afterAll(() => system.close());

const NOTHING = { authorized: false, expired: null, refreshable: false, pending: false, error: null };

test('a server that asks for it gets a client, a consent and a token, and then its tools can be called', async () => {
  const remote = await openOAuthMcpServer();
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
  expect(await system.state(remote.url)).toEqual({ ...NOTHING, pending: true });

  const back = await remote.authorization.consent(consent.authorization_url);
  const ended = system.auth.ask('signInEnded', { server: nameOf(remote.url), flow_id: consent.flow_id });
  expect(await system.comeBack(back)).toBe('signed_in');
  expect(await ended).toEqual({ outcome: 'signed_in', error: null });
  const client = clientOf(await system.connect(remote.url));
  expect(await client.callTool({ name: 'greet' })).toMatchObject({
    content: [{ type: 'text', text: 'hello, whoever signed in' }],
  });
  const state = await system.state(remote.url);
  expect(state).toEqual({ ...NOTHING, authorized: true, expired: false, refreshable: true });
  expect(remote.authorization.asked).toEqual(['register', 'authorization_code']);
});

test('who asks how a sign-in ended after it has is told all the same', async () => {
  const remote = await openOAuthMcpServer();
  const { flow_id, authorization_url } = consentOf(await system.connect(remote.url));
  await system.comeBack(await remote.authorization.consent(authorization_url));
  const server = nameOf(remote.url);
  expect(await system.auth.ask('signInEnded', { server, flow_id })).toMatchObject({ outcome: 'signed_in' });
  expect(await system.auth.ask('signInEnded', { server, flow_id: 'another' })).toMatchObject({
    outcome: 'cancelled',
  });
});

describe('a server whose authorization server registers nobody', () => {
  test('takes the client that is configured, with its secret', async () => {
    const remote = await openOAuthMcpServer({ registration: false });
    const client = await system.signIn(remote, {
      client_id: STATIC_CLIENT.id,
      client_secret: STATIC_CLIENT.secret,
      scope: 'mcp:tools',
    });
    expect((await client.listTools()).tools).toHaveLength(2);
    expect(remote.authorization.asked).toEqual(['authorization_code']);
  });

  test('says that it wants one where there is none', async () => {
    const remote = await openOAuthMcpServer({ registration: false });
    await expect(system.connect(remote.url)).rejects.toMatchObject({ code: 'mcp_sign_in_failed' });
    const { error, pending } = await system.state(remote.url);
    expect(error).toContain('client_id');
    expect(pending).toBe(false);
  });
});

test('a token that reaches too little takes a consent that reaches further, and keeps what there was', async () => {
  const remote = await openOAuthMcpServer();
  const client = await system.signIn(remote);
  await expect(client.callTool({ name: 'rule' })).rejects.toThrow('sign in');
  const consent = await system.auth.ask('consent', { server: nameOf(remote.url) });
  const page = new URL(consent?.authorization_url ?? '');
  expect(page.searchParams.get('scope')).toBe('mcp:tools mcp:admin offline_access');
  expect(await system.state(remote.url)).toMatchObject({ authorized: true, pending: true });
  expect(await client.callTool({ name: 'greet' })).toBeDefined();

  expect(await system.comeBack(await remote.authorization.consent(page.href))).toBe('signed_in');
  expect(await client.callTool({ name: 'rule' })).toMatchObject({ content: [{ text: 'so be it' }] });
});

describe('a callback', () => {
  test('without a code or a state, or with a state that nobody awaits, changes nothing', async () => {
    const remote = await openOAuthMcpServer();
    const { authorization_url } = consentOf(await system.connect(remote.url));
    const state = new URL(authorization_url).searchParams.get('state') ?? '';
    const settle = (arrival: object) => system.auth.ask('settleSignIn', arrival);
    expect(await settle({})).toEqual({ outcome: 'incomplete' });
    expect(await settle({ code: 'a-code' })).toEqual({ outcome: 'incomplete' });
    expect(await settle({ state })).toEqual({ outcome: 'incomplete' });
    expect(await settle({ code: 'a-code', state: `${state.slice(1)}0` })).toEqual({ outcome: 'unknown' });
    expect(await settle({ code: 'a-code', state: '' })).toEqual({ outcome: 'unknown' });
    expect(await system.state(remote.url)).toEqual({ ...NOTHING, pending: true });
  });

  test('counts once, however often it comes', async () => {
    const remote = await openOAuthMcpServer();
    const { authorization_url } = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(authorization_url);
    const outcomes = await Promise.all([system.comeBack(back), system.comeBack(back)]);
    expect(outcomes.toSorted()).toEqual(['signed_in', 'unknown']);
    expect(await system.comeBack(back)).toBe('unknown');
    expect(remote.authorization.asked).toEqual(['register', 'authorization_code']);
  });

  test('of another authorization server is not believed, whatever else it says', async () => {
    const remote = await openOAuthMcpServer();
    for (const arrival of [{ code: 'a-code' }, { error: 'access_denied' }]) {
      await system.auth.ask('newAttempt', { server: nameOf(remote.url) });
      const { authorization_url } = consentOf(await system.connect(remote.url));
      const state = new URL(authorization_url).searchParams.get('state') ?? '';
      const settled = { ...arrival, state, iss: 'https://evil.example' };
      expect(await system.auth.ask('settleSignIn', settled)).toEqual({ outcome: 'failed' });
      expect((await system.state(remote.url)).error).toContain('Another authorization server');
    }
    expect(remote.authorization.asked).not.toContain('authorization_code!');
  });

  test('with a refusal leaves a sentence of ours behind, until the next attempt', async () => {
    const remote = await openOAuthMcpServer();
    const { authorization_url, flow_id } = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(authorization_url, { deny: true });
    expect(back.searchParams.get('error_description')).toBe('<b>no</b>');
    expect(await system.comeBack(back)).toBe('refused');
    const error = 'Access was not granted.';
    expect(await system.state(remote.url)).toEqual({ ...NOTHING, error });
    expect(await system.auth.ask('signInEnded', { server: nameOf(remote.url), flow_id })).toEqual({
      outcome: 'failed',
      error,
    });
    await system.auth.ask('newAttempt', { server: nameOf(remote.url) });
    expect(await system.state(remote.url)).toEqual(NOTHING);
  });

  test('with a code that is worth nothing leaves a sentence too', async () => {
    const remote = await openOAuthMcpServer();
    const { authorization_url } = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(authorization_url);
    back.searchParams.set('code', 'made-up');
    expect(await system.comeBack(back)).toBe('failed');
    expect((await system.state(remote.url)).error).toBe('The authorization server refused to give a token.');
    expect(remote.authorization.asked).toEqual(['register', 'authorization_code!']);
  });
});

describe('a sign-in', () => {
  test('that was cancelled is over without an error, and a callback that comes late does not sign in', async () => {
    const remote = await openOAuthMcpServer();
    const server = nameOf(remote.url);
    const { authorization_url, flow_id } = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(authorization_url);
    expect(await system.auth.ask('cancel', { server })).toEqual({ cancelled: true });
    expect(await system.auth.ask('signInEnded', { server, flow_id })).toEqual({
      outcome: 'cancelled',
      error: null,
    });
    expect(await system.comeBack(back)).toBe('unknown');
    expect(await system.state(remote.url)).toEqual(NOTHING);
    expect(await system.auth.ask('cancel', { server })).toEqual({ cancelled: false });
  });

  test('that is cancelled while its code is exchanged stores nothing', async () => {
    const remote = await openOAuthMcpServer();
    const { authorization_url } = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(authorization_url);
    const settled = system.comeBack(back);
    expect(await system.auth.ask('cancel', { server: nameOf(remote.url) })).toEqual({ cancelled: true });
    expect(await settled).toBe('unknown');
    expect(await system.state(remote.url)).toEqual(NOTHING);
  });

  test('keeps the tokens that there were when it is cancelled', async () => {
    const remote = await openOAuthMcpServer();
    const client = await system.signIn(remote);
    await expect(client.callTool({ name: 'rule' })).rejects.toThrow('sign in');
    expect(await system.auth.ask('cancel', { server: nameOf(remote.url) })).toEqual({ cancelled: true });
    expect(await system.state(remote.url)).toMatchObject({ authorized: true, pending: false, error: null });
    expect(await client.callTool({ name: 'greet' })).toBeDefined();
  });

  test('makes room for a newer attempt, and its callback comes too late then', async () => {
    const remote = await openOAuthMcpServer();
    const first = consentOf(await system.connect(remote.url));
    const back = await remote.authorization.consent(first.authorization_url);
    await system.auth.ask('newAttempt', { server: nameOf(remote.url) });
    const second = consentOf(await system.connect(remote.url));
    expect(second.flow_id).not.toBe(first.flow_id);
    expect(await system.comeBack(back)).toBe('unknown');
    expect(await system.state(remote.url)).toEqual({ ...NOTHING, pending: true });
    expect(await system.comeBack(await remote.authorization.consent(second.authorization_url))).toBe(
      'signed_in',
    );
  });

  test('is joined by a session that tries again by itself', async () => {
    const remote = await openOAuthMcpServer();
    const first = consentOf(await system.connect(remote.url));
    expect(consentOf(await system.connect(remote.url))).toEqual(first);
  });

  test('is not begun anew while the code of the one before is exchanged', async () => {
    const { url, authorization } = await openOAuthMcpServer();
    const { authorization_url } = consentOf(await system.connect(url));
    const arrival = await authorization.consent(authorization_url);
    const [outcome, admission] = await Promise.all([
      system.comeBack(arrival),
      system.auth.ask('challenged', { account: accountFor(url), challenge: unauthorized() }),
    ]);
    expect(outcome).toBe('signed_in');
    expect(admission.kind).toBe('authorized');
  });

  test('is one, however many are challenged at once', async () => {
    const remote = await openOAuthMcpServer();
    const account = accountFor(remote.url);
    const ask = () => system.auth.ask('challenged', { account, challenge: unauthorized() });
    const [first, ...others] = await Promise.all(Array.from({ length: 8 }, ask));
    expect(new Set(others.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(first)]));
    expect(remote.authorization.asked).toEqual(['register']);
  });
});

test('a reset forgets tokens and registration; what comes of a sign-in then is not kept', async () => {
  const remote = await openOAuthMcpServer();
  const server = nameOf(remote.url);
  expect(await system.auth.ask('reset', { server })).toEqual({ cleared: false });
  await system.signIn(remote);
  expect(await system.auth.ask('reset', { server })).toEqual({ cleared: true });
  expect(await system.state(remote.url)).toEqual(NOTHING);

  const { authorization_url } = consentOf(await system.connect(remote.url));
  const settled = system.comeBack(await remote.authorization.consent(authorization_url));
  await system.auth.ask('reset', { server });
  expect(await settled).toBe('unknown');
  expect(await system.state(remote.url)).toEqual(NOTHING);
  expect(remote.authorization.asked.filter((one) => one === 'register')).toHaveLength(2);
});

test('credentials go along with a new name, and not with a new address', async () => {
  const remote = await openOAuthMcpServer();
  const server = nameOf(remote.url);
  await system.signIn(remote);
  await system.auth.ask('rename', { server, to: 'renamed' });
  expect(await system.state(remote.url)).toEqual(NOTHING);
  expect(await system.state(remote.url, 'renamed')).toMatchObject({ authorized: true });
  expect((await system.connect(remote.url, { server: 'renamed' })).kind).toBe('connected');
  expect(await system.state('https://elsewhere.example/mcp', 'renamed')).toEqual(NOTHING);
});
