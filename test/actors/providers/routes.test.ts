// The routes of the registry, over HTTP.

import { afterAll, describe, expect, test } from 'vitest';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ models: { list: ['double-1', 'double-2'] } });
afterAll(() => app.close());

const draft = () => ({ id: 'groq', base_url: app.double.baseUrl, api_key: 'gsk-0123456789abcdef' });

describe('the registry', () => {
  test('registers, shows, changes and forgets an endpoint', async () => {
    const registered = await app.call('POST', '/api/providers/custom', { ...draft(), colour: 'blue' });
    expect(registered).toMatchObject({
      status: 200,
      body: { provider: { id: 'groq', key_fingerprint: '····cdef', configured: true } },
    });
    expect(registered.body.provider).not.toHaveProperty('colour');
    const changed = await app.call('POST', '/api/providers/custom', { id: 'groq', label: 'Groq' });
    expect(changed.body.provider).toMatchObject({ label: 'Groq', key_fingerprint: '····cdef' });
    const { body } = await app.call('GET', '/api/providers/catalog');
    expect(body).toMatchObject({ count: 6, configured: 2 });
    expect((await app.call('GET', '/api/providers')).body.providers.at(-1)).toEqual({
      name: 'groq',
      status: 'configured',
      models: ['double-1', 'double-2'],
    });
    expect(await app.call('DELETE', '/api/providers/custom/groq')).toMatchObject({
      status: 200,
      body: { status: 'deleted', id: 'groq', referencing_profiles: [] },
    });
    expect((await app.call('DELETE', '/api/providers/custom/groq')).status).toBe(404);
  });

  test('answers a turn of a registered endpoint, and shows its key nowhere', async () => {
    await app.call('POST', '/api/providers/custom', draft());
    const { events } = await app.turn('Hello', { model: 'groq:double-2' });
    expect(events.find(({ event }) => event === 'done')?.data).toMatchObject({
      provider: 'groq',
      model: 'double-2',
    });
    for (const path of ['/api/config', '/api/providers/catalog', '/api/providers', '/api/providers/models']) {
      const { status, body } = await app.call('GET', path);
      expect(status).toBe(200);
      expect(JSON.stringify(body)).not.toContain('gsk-0123456789');
    }
    await app.call('DELETE', '/api/providers/custom/groq');
  });

  test('survives a restart', async () => {
    await app.call('POST', '/api/providers/custom', draft());
    await app.restart();
    const { body } = await app.call('GET', '/api/providers/catalog');
    expect(body.providers.at(-1)).toMatchObject({ id: 'groq', key_fingerprint: '····cdef' });
    await app.call('DELETE', '/api/providers/custom/groq');
  });

  test('fetches the lists after a start, before anybody asks for them', async () => {
    const listing = app.double.listed(app.double.listings.length);
    await app.restart();
    expect((await listing).path).toBe('/v1/models');
  });

  test('refuses a wrong draft with 400 and a sentence', async () => {
    const wrong = await app.call('POST', '/api/providers/custom', { id: 'openai', base_url: 'http://x/v1' });
    expect(wrong).toMatchObject({ status: 400, body: { error: 'The id openai is taken' } });
  });

  test('tries a draft', async () => {
    const { status, body } = await app.call('POST', '/api/providers/test', { base_url: app.double.baseUrl });
    expect(status).toBe(200);
    expect(body).toMatchObject({ reachable: true, models_available: 2, error: null });
  });

  test('previews a route', async () => {
    const { body } = await app.call('GET', '/api/providers/route?model=vercel:x&fallback=lmstudio:double-2');
    expect(body).toMatchObject({
      requested: 'vercel:x',
      resolved: { model: 'lmstudio:double-2', model_id: 'double-2', provider: 'lmstudio' },
      substituted: true,
    });
  });
});

describe.each([{ SVC_PUBLIC_HOST: 'troupe.example.org' }, { SVC_GATEWAY_TOKEN: 'a-token' }])(
  'with %o in the environment',
  (environment) => {
    test('addresses inside are answered with 403', async () => {
      await using exposed = await openTroupe({ service: { environment } });
      for (const path of ['/api/providers/custom', '/api/providers/test']) {
        for (const base_url of [
          exposed.double.baseUrl,
          'http://169.254.169.254/v1',
          'http://[::ffff:10.0.0.1]/v1',
        ]) {
          const { status, body } = await exposed.call('POST', path, { id: 'inside', base_url });
          expect([path, base_url, status]).toEqual([path, base_url, 403]);
          expect(body).toEqual({ error: expect.stringContaining('not allowed here') });
        }
      }
      await exposed.configure({ providers: { policy: { allow_private_endpoints: true } } });
      const { status } = await exposed.call('POST', '/api/providers/test', {
        base_url: exposed.double.baseUrl,
      });
      expect(status).toBe(200);
    });
  },
);
