import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AggregatorDouble, startAggregatorDouble } from '../../support/aggregator-double.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

let app: TestTroupe;
let double: AggregatorDouble;
beforeAll(async () => {
  double = await startAggregatorDouble();
  app = await openTroupe();
  await app.configure({ providers: { openrouter: { base_url: double.baseUrl } } });
});
afterAll(async () => {
  await app.close();
  await double.stop();
});

const BASE = '/api/providers/openrouter';

test('an account is linked through the browser, and the page says so', async () => {
  const { body: started } = await app.call('POST', `${BASE}/oauth/start`);
  expect(started).toEqual({
    flow_id: expect.any(String),
    authorization_url: expect.stringContaining(`${double.site}/auth?`),
    local_callback: true,
  });
  const callback = double.consent(started.authorization_url);
  expect(callback).toContain(`:${new URL(app.url).port}${BASE}/oauth/callback/${started.flow_id}?code=`);

  const page = await fetch(callback);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('Account linked');
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  expect(page.headers.get('cache-control')).toBe('no-store');

  const replayed = await fetch(callback);
  expect(replayed.status).toBe(409);
  const status = await app.call('GET', `${BASE}/oauth/status?flow_id=${started.flow_id}`);
  expect(status.body).toEqual({ status: 'linked', error: null });
  const shown = await app.call('GET', '/api/config');
  expect(shown.body.providers.openrouter.api_key).toBe(`***${double.minted[0]?.slice(-4)}`);
  expect(JSON.stringify([started, status.body, shown.body])).not.toContain(double.minted[0]);
});

test('the same is served under the general name', async () => {
  const base = '/api/providers/aggregator';
  expect((await app.call('GET', `${base}/account`)).body).toMatchObject({
    available: true,
    total_credits: 25,
  });
  expect((await app.call('GET', `${base}/models/openai/gpt-4o/endpoints`)).body).toMatchObject({
    id: 'openai/gpt-4o',
    endpoints: [{ context_length: 64_000 }],
  });
  expect((await app.call('GET', `${base}/generation/gen-1`)).body).toMatchObject({ total_cost: 0.0015 });
  expect((await app.call('GET', `${base}/generation/gen-2`)).status).toBe(404);
  expect((await app.call('GET', `${base}/alias-migration`)).body).toEqual({
    count: 0,
    catalog_available: true,
    refs: [],
  });
  expect((await app.call('POST', `${base}/alias-migration`, { refs: [] })).body).toEqual({
    applied: [],
    failed: [],
    count: 0,
  });
});

test('parts of a path that lead elsewhere are refused before anybody is asked', async () => {
  const before = double.requests.length;
  for (const path of [
    'models/..%2Fkey/gpt-4o/endpoints',
    'models/openai/gpt%3Fx=1/endpoints',
    'models/../../endpoints',
    'generation/gen-1%26id=2',
  ]) {
    const { status } = await app.call('GET', `${BASE}/${path}`);
    expect([400, 404], path).toContain(status);
  }
  expect(double.requests.length).toBe(before);
});

test('the page reflects nothing, and only a GET opens it', async () => {
  const { body } = await app.call('POST', `${BASE}/oauth/start`);
  const path = `${app.url}${BASE}/oauth/callback`;
  const attack = encodeURIComponent('<script>alert(1)</script>');
  const strange = await fetch(`${path}/${attack}?code=${attack}&error=${attack}`);
  expect(strange.status).toBe(410);
  expect(await strange.text()).not.toContain('alert');

  expect((await fetch(`${path}/${body.flow_id}?code=c`, { method: 'HEAD' })).status).toBe(405);
  const refused = await fetch(`${path}/${body.flow_id}?error=${attack}`);
  expect(refused.status).toBe(400);
  expect(await refused.text()).not.toContain('alert');
  const { body: status } = await app.call('GET', `${BASE}/oauth/status?flow_id=${body.flow_id}`);
  expect(status).toEqual({ status: 'error', error: 'The aggregator did not grant access.' });
});

test('a flow is cancelled, and the account is unlinked', async () => {
  const { body: started } = await app.call('POST', `${BASE}/oauth/start`);
  const cancelled = await app.call('POST', `${BASE}/oauth/cancel`, { flow_id: started.flow_id });
  expect(cancelled.body).toEqual({ status: 'cancelled' });
  expect((await app.call('GET', `${BASE}/oauth/status?flow_id=${started.flow_id}`)).body.status).toBe(
    'expired',
  );
  expect((await app.call('GET', `${BASE}/oauth/status`)).body.status).toBe('expired');
  expect((await app.call('POST', `${BASE}/oauth/cancel`)).body).toEqual({ status: 'cancelled' });
  expect((await app.call('POST', `${BASE}/unlink`)).body).toEqual({
    status: 'unlinked',
    had_key: true,
    revoke_url: `${double.site}/settings/keys`,
  });
  expect((await app.call('GET', `${BASE}/account`)).body).toEqual({ available: false });
});
