import { expect, test } from 'vitest';
import { authorizationUrl, callbackBase, revokeUrl } from '../../../src/actors/aggregator/addresses.ts';

const NOTHING = { base: undefined, publicHost: undefined, servedAt: null };

test('the browser comes back to what the operator says, else to the public host, else to this machine', () => {
  const all = {
    base: 'https://edge.example/troupe/',
    publicHost: 'troupe.example',
    servedAt: 'http://127.0.0.1:4000',
  };
  expect(callbackBase(all)).toEqual({ address: 'https://edge.example/troupe', isLocal: false });
  expect(callbackBase({ ...all, base: undefined })).toEqual({
    address: 'https://troupe.example',
    isLocal: false,
  });
  expect(callbackBase({ ...NOTHING, servedAt: 'http://127.0.0.1:4000' })).toEqual({
    address: 'http://localhost:4000',
    isLocal: true,
  });
});

test('an override that leads to this machine is local', () => {
  expect(callbackBase({ ...NOTHING, base: 'http://127.0.0.1:9000' })?.isLocal).toBe(true);
  expect(callbackBase({ ...NOTHING, base: 'https://127.example' })?.isLocal).toBe(false);
});

test('where there is no address that a browser could open, there is none', () => {
  expect(callbackBase(NOTHING)).toBeNull();
  expect(callbackBase({ ...NOTHING, base: 'troupe' })).toBeNull();
  expect(callbackBase({ ...NOTHING, base: 'file:///etc' })).toBeNull();
});

test('the pages of consent and of keys are at the site of the API', () => {
  const url = new URL(
    authorizationUrl('https://openrouter.ai/api/v1', 'http://localhost:1/back?x=1', 'challenge'),
  );
  expect(url.origin + url.pathname).toBe('https://openrouter.ai/auth');
  expect(Object.fromEntries(url.searchParams)).toEqual({
    callback_url: 'http://localhost:1/back?x=1',
    code_challenge: 'challenge',
    code_challenge_method: 'S256',
  });
  expect(revokeUrl('https://proxy.example/openrouter/api/v1/')).toBe(
    'https://proxy.example/openrouter/settings/keys',
  );
  expect(revokeUrl('https://gateway.example/llm')).toBe('https://gateway.example/settings/keys');
});
