// Registered endpoints: on the real actors, against provider doubles.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { describe, expect, test } from 'vitest';
import { openaiAt, openProviderSystem } from './provider-system.ts';

const KEY = 'gsk-0123456789abcdef';

/** The first time somewhere outside, from then on this machine. */
function rebinding(): LookupFunction & { readonly count: number } {
  let count = 0;
  const lookup: LookupFunction = (_host, { all }, answer) => {
    const address = count === 0 ? '93.184.215.14' : '127.0.0.1';
    count += 1;
    if (all) answer(null, [{ address, family: 4 }]);
    else answer(null, address, 4);
  };
  return Object.defineProperty(lookup, 'count', { get: () => count }) as LookupFunction & { count: number };
}

describe('the catalogue', () => {
  test('has the built-in providers and the registered ones, and no secret', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {} });
    await system.set(openaiAt(double));
    await system.providers.ask('register', {
      id: 'groq',
      label: 'Groq',
      base_url: 'https://api.example.org/v1/',
      api_key: KEY,
      headers: { 'X-Team': 'top-secret-team' },
    });
    const catalog = await system.providers.ask('catalog', {});
    expect(catalog).toMatchObject({ count: 6, configured: 2 });
    expect(catalog.providers.map(({ id }) => id)).toEqual([
      'openrouter',
      'anthropic',
      'openai',
      'vercel',
      'lmstudio',
      'groq',
    ]);
    expect(catalog.providers[0]).toEqual({
      id: 'openrouter',
      kind: 'openrouter',
      label: 'OpenRouter',
      base_url: 'https://openrouter.ai/api/v1',
      key_fingerprint: null,
      header_names: [],
      enabled: true,
      builtin: true,
      credential: 'api_key',
      configured: false,
    });
    expect(catalog.providers[5]).toEqual({
      id: 'groq',
      kind: 'openai_compatible',
      label: 'Groq',
      base_url: 'https://api.example.org/v1',
      key_fingerprint: '····cdef',
      header_names: ['x-team'],
      enabled: true,
      builtin: false,
      credential: 'api_key',
      configured: true,
    });
    expect(JSON.stringify(catalog)).not.toMatch(/0123456789|top-secret/);
  });
});

describe('an endpoint that is registered', () => {
  test('lists models and answers turns at once, with its key and its headers', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: ['mixtral'] } });
    await system.providers.ask('register', {
      id: ' Groq ',
      base_url: double.baseUrl,
      api_key: KEY,
      headers: { 'x-team': 'blue' },
    });
    const { models } = await system.providers.ask('models', { provider: 'groq' });
    expect(models.map(({ id }) => id)).toEqual(['groq:mixtral']);
    expect(double.listings[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, 'x-team': 'blue' });
    const route = await system.providers.ask('resolve', { model: 'groq:mixtral' });
    expect(route).toMatchObject({
      reference: 'groq:mixtral',
      substitution: null,
      connection: { provider: 'groq', kind: 'openai_compatible', apiKey: KEY, egress: 'private_too' },
    });
  });

  test('keeps what a later change leaves out', async () => {
    await using system = await openProviderSystem();
    const register = async (draft: object) =>
      (await system.providers.ask('register', { id: 'groq', ...draft })).provider;
    await register({
      label: 'Groq',
      base_url: 'https://one.example.org/v1',
      api_key: KEY,
      headers: { 'x-team': 'blue', 'x-old': 'gone' },
    });
    expect(await register({ base_url: 'https://two.example.org/v1', api_key: null })).toMatchObject({
      label: 'Groq',
      base_url: 'https://two.example.org/v1',
      key_fingerprint: '····cdef',
      header_names: ['x-team', 'x-old'],
    });
    expect(await register({ headers: { 'x-team': null, 'x-new': '1' } })).toMatchObject({
      header_names: ['x-team', 'x-new'],
    });
    expect(await register({ enabled: false })).toMatchObject({ enabled: false, configured: false });
    expect(await register({ enabled: true, api_key: '' })).toMatchObject({
      key_fingerprint: null,
      credential: 'base_url',
      configured: true,
    });
  });

  test('is kept when others are registered at the same time', async () => {
    await using system = await openProviderSystem();
    const ids = ['one', 'two', 'three', 'four', 'five'];
    await Promise.all(
      ids.map((id) => system.providers.ask('register', { id, base_url: `https://${id}.example.org/v1` })),
    );
    const { providers } = await system.providers.ask('catalog', {});
    const registered = providers.filter(({ builtin }) => !builtin).map(({ id }) => id);
    expect(registered.toSorted()).toEqual(ids.toSorted());
  });

  test('goes away with its deletion; a turn that has its connection keeps it', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: { text: 'still here' } });
    await system.providers.ask('register', { id: 'groq', base_url: double.baseUrl });
    const route = await system.providers.ask('resolve', { model: 'groq:double-1' });
    expect(await system.providers.ask('unregister', { id: 'groq' })).toEqual({
      status: 'deleted',
      id: 'groq',
      referencing_profiles: [],
    });
    expect((await system.providers.ask('resolve', { model: 'groq:double-1' })).substitution).toBe(
      'requested groq:double-1 unavailable, using local:offline',
    );
    let text = '';
    const request = {
      connection: route.connection,
      modelId: route.modelId,
      messages: [{ role: 'user' as const, content: 'hello' }],
      tools: [],
      temperature: 0,
      maxOutputTokens: null,
    };
    for await (const batch of system.completions.stream('complete', request)) {
      for (const delta of batch) if (delta.kind === 'text') text += delta.text;
    }
    expect(text).toBe('still here');
    await expect(system.providers.ask('unregister', { id: 'groq' })).rejects.toMatchObject({
      code: 'endpoint_not_found',
    });
  });

  test.each<[string, object]>([
    ['a built-in id', { id: 'openai' }],
    ['a name with a meaning', { id: 'policy' }],
    ['a word of references', { id: 'role' }],
    ['a short id', { id: 'x' }],
    ['an id with other letters', { id: 'my endpoint' }],
    ['no address', { base_url: undefined }],
    ['an address of another kind', { base_url: 'file:///etc/passwd' }],
    ['credentials in the address', { base_url: 'https://me:secret@example.org/v1' }],
    ['a masked key', { api_key: '····cdef' }],
    ['a redacted key', { api_key: '***cdef' }],
    ['another kind', { kind: 'anthropic' }],
    ['a header of the transport', { headers: { Host: 'example.org' } }],
    ['a header with a line break', { headers: { 'x-a': 'b\r\nc: d' } }],
    [
      'too many headers',
      { headers: Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`x-${n}`, '1'])) },
    ],
    ['a long label', { label: 'x'.repeat(81) }],
  ])('is refused with %s', async (_, wrong) => {
    await using system = await openProviderSystem();
    const draft = { id: 'groq', base_url: 'https://api.example.org/v1', ...wrong };
    await expect(system.providers.ask('register', draft)).rejects.toMatchObject({
      code: 'endpoint_invalid',
      kind: 'invalid',
    });
    expect((await system.providers.ask('catalog', {})).count).toBe(5);
  });

  test('has no stored values that nobody stored', async () => {
    await using system = await openProviderSystem();
    await expect(system.providers.ask('unregister', { id: 'constructor' })).rejects.toMatchObject({
      code: 'endpoint_not_found',
    });
    const draft = {
      id: 'constructor',
      base_url: 'https://api.example.org/v1',
      headers: { constructor: null },
    };
    expect((await system.providers.ask('register', draft)).provider.header_names).toEqual([]);
  });

  test('is refused when there are too many', async () => {
    await using system = await openProviderSystem();
    const register = (n: number) =>
      system.providers.ask('register', { id: `e${n}-x`, base_url: 'https://api.example.org/v1' });
    for (let n = 0; n < 32; n += 1) await register(n);
    await expect(register(32)).rejects.toMatchObject({ kind: 'invalid' });
  });
});

describe('a draft', () => {
  test('is asked for its models, and the time is told', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: ['a', 'b'] } });
    const trial = await system.providers.ask('test', { base_url: double.baseUrl, api_key: KEY });
    expect(trial).toEqual({
      reachable: true,
      base_url: double.baseUrl,
      elapsed_ms: expect.any(Number),
      models_available: 2,
      models: ['a', 'b'],
      error: null,
    });
    expect(double.listings[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect((await system.providers.ask('catalog', {})).count).toBe(5);
  });

  test('that cannot be reached says why, without its key', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {}, models: { list: [], status: 401 } });
    const trial = await system.providers.ask('test', { base_url: double.baseUrl, api_key: KEY });
    expect(trial).toMatchObject({
      reachable: false,
      models: [],
      error: 'draft answered 401: scripted failure',
    });
  });

  test.each<[string, (response: ServerResponse, elsewhere: string) => void, object]>([
    [
      'that sends a bare list is read',
      (response) => response.end(JSON.stringify([{ id: 'a' }, { object: 'nameless' }])),
      { reachable: true, models: ['a'] },
    ],
    [
      'that sends a page says so',
      (response) => response.end('<html>'),
      { reachable: false, error: 'draft sent an answer that makes no sense: its list of models is no JSON' },
    ],
    [
      'that redirects is not followed',
      (response, elsewhere) => response.writeHead(302, { location: `${elsewhere}/models` }).end(),
      { reachable: false, error: 'draft answered 302' },
    ],
  ])('%s', async (_, answer, expected) => {
    await using system = await openProviderSystem();
    const elsewhere = await system.double({ script: {} });
    const server = createServer((_request, response) => answer(response, elsewhere.baseUrl));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const trial = await system.providers.ask('test', { base_url, api_key: KEY });
    expect(trial).toMatchObject(expected);
    expect(elsewhere.listings).toEqual([]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('takes the stored key of the endpoint that it is to replace', async () => {
    await using system = await openProviderSystem();
    const double = await system.double({ script: {} });
    await system.providers.ask('register', {
      id: 'groq',
      base_url: 'https://api.example.org/v1',
      api_key: KEY,
    });
    await system.providers.ask('test', { id: 'groq', base_url: double.baseUrl });
    expect(double.listings[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
  });

  test('never carries the key of a built-in provider to another address', async () => {
    await using system = await openProviderSystem();
    const [own, other] = [await system.double({ script: {} }), await system.double({ script: {} })];
    await system.set(openaiAt(own));
    await system.providers.ask('test', { id: 'openai', base_url: other.baseUrl });
    await system.providers.ask('test', { id: 'openai' });
    expect(JSON.stringify(other.listings[0]?.headers)).not.toContain('sk-double');
    expect(own.listings.at(-1)?.headers.authorization).toBe('Bearer sk-double-0123456789');
  });
});

describe('where the API is exposed', () => {
  test('no endpoint may lead inside, unless the policy says so', async () => {
    await using system = await openProviderSystem({}, { isExposed: true });
    const double = await system.double({ script: {} });
    const draft = { id: 'home', base_url: double.baseUrl };
    for (const message of ['register', 'test'] as const) {
      await expect(system.providers.ask(message, draft)).rejects.toMatchObject({
        code: 'provider_address_refused',
        kind: 'forbidden',
      });
    }
    expect(double.listings).toEqual([]);
    await system.set({ 'providers.policy.allow_private_endpoints': true });
    expect((await system.providers.ask('test', draft)).reachable).toBe(true);
    expect((await system.providers.ask('register', draft)).provider.configured).toBe(true);

    await system.set({ 'providers.policy.allow_private_endpoints': false });
    const { providers } = await system.providers.ask('health', {});
    expect(providers.home).toEqual({
      status: 'unhealthy',
      error: 'home is not asked: 127.0.0.1 has a loopback address, which is not allowed here',
    });
  });

  test('what the operator has set is asked wherever it is', async () => {
    await using system = await openProviderSystem({}, { isExposed: true });
    const double = await system.double({ script: {} });
    await system.set(openaiAt(double));
    expect((await system.providers.ask('models', {})).count).toBe(1);
  });

  test('a name that resolves to somewhere inside the second time gets no further', async () => {
    const lookup = rebinding();
    await using system = await openProviderSystem({}, { isExposed: true, lookup });
    const double = await system.double({ script: {} });
    const base_url = `http://rebinding.test:${double.port}/v1`;
    await system.providers.ask('register', { id: 'sly', base_url });
    expect(lookup.count).toBeGreaterThan(0);
    const { providers } = await system.providers.ask('health', {});
    expect(providers.sly).toMatchObject({ status: 'unhealthy', error: expect.stringContaining('loopback') });
    await expect(system.providers.ask('test', { base_url })).rejects.toMatchObject({
      code: 'provider_address_refused',
    });
    expect(double.listings).toEqual([]);
  });
});

test('a local install can be told to keep out of its own network', async () => {
  await using system = await openProviderSystem({ 'providers.policy.allow_private_endpoints': false });
  await expect(
    system.providers.ask('register', { id: 'home', base_url: 'http://192.168.1.5:8000/v1' }),
  ).rejects.toMatchObject({ code: 'provider_address_refused' });
});
