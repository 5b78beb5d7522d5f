import { expect, test } from 'vitest';
import { FLOW_LIFETIME_MS } from '../../../src/actors/aggregator/link-flow.ts';
import { KEY, openAggregatorSystem } from './aggregator-system.ts';

test('a consent links the account: the minted key is stored, and the flow says linked', async () => {
  const { aggregator, double, settings, codeFor } = await openAggregatorSystem();
  const started = await aggregator.ask('startLink', {});
  expect(started.flow_id).toMatch(/^[0-9a-f]{64}$/);
  expect(started.local_callback).toBe(true);
  const consent = new URL(started.authorization_url);
  expect(consent.origin + consent.pathname).toBe(`${double.site}/auth`);
  expect(consent.searchParams.get('callback_url')).toBe(
    `http://localhost:4000/api/providers/openrouter/oauth/callback/${started.flow_id}`,
  );
  const flow = { flow_id: started.flow_id };
  expect(await aggregator.ask('linkStatus', flow)).toEqual({ status: 'pending', error: null });

  const code = codeFor(started.authorization_url);
  expect(await aggregator.ask('settleLink', { nonce: started.flow_id, code })).toEqual({ outcome: 'linked' });
  expect(await aggregator.ask('linkStatus', flow)).toEqual({ status: 'linked', error: null });
  expect((await settings())[KEY]).toBe(double.minted[0]);
});

test('a callback that is replayed, at the same moment or later, mints no second key', async () => {
  const { aggregator, double, codeFor } = await openAggregatorSystem();
  const { flow_id: nonce, authorization_url } = await aggregator.ask('startLink', {});
  const code = codeFor(authorization_url);
  const held = double.hold('/auth/keys');
  const first = aggregator.ask('settleLink', { nonce, code });
  await held.arrived;
  expect(await aggregator.ask('settleLink', { nonce, code })).toEqual({ outcome: 'replayed' });
  held.release();
  expect(await first).toEqual({ outcome: 'linked' });
  expect(await aggregator.ask('settleLink', { nonce, code: codeFor(authorization_url) })).toEqual({
    outcome: 'replayed',
  });
  expect(double.minted).toHaveLength(1);
  expect(double.requestsTo('/auth/keys')).toHaveLength(1);
});

test('who does not know the nonce, or comes too late, gets nothing exchanged', async () => {
  const { aggregator, double, elapse, codeFor } = await openAggregatorSystem();
  const { flow_id: nonce, authorization_url } = await aggregator.ask('startLink', {});
  const code = codeFor(authorization_url);
  expect(await aggregator.ask('settleLink', { nonce: 'f'.repeat(64), code })).toEqual({ outcome: 'expired' });
  elapse(FLOW_LIFETIME_MS);
  expect(await aggregator.ask('settleLink', { nonce, code })).toEqual({ outcome: 'expired' });
  expect((await aggregator.ask('linkStatus', { flow_id: nonce })).status).toBe('expired');
  expect(double.requests).toEqual([]);
});

test('a new start drops the flow before it', async () => {
  const { aggregator, double, codeFor } = await openAggregatorSystem();
  const first = await aggregator.ask('startLink', {});
  const second = await aggregator.ask('startLink', {});
  expect((await aggregator.ask('linkStatus', { flow_id: first.flow_id })).status).toBe('expired');
  const code = codeFor(first.authorization_url);
  expect(await aggregator.ask('settleLink', { nonce: first.flow_id, code })).toEqual({ outcome: 'expired' });
  expect((await aggregator.ask('linkStatus', { flow_id: second.flow_id })).status).toBe('pending');
  expect(double.minted).toEqual([]);
});

test('a cancelled flow keeps no key, even when the aggregator is being asked', async () => {
  const { aggregator, double, settings, codeFor } = await openAggregatorSystem();
  const { flow_id, authorization_url } = await aggregator.ask('startLink', {});
  const held = double.hold('/auth/keys');
  const settled = aggregator.ask('settleLink', { nonce: flow_id, code: codeFor(authorization_url) });
  await held.arrived;
  expect(await aggregator.ask('cancelLink', { flow_id })).toEqual({ status: 'cancelled' });
  held.release();
  expect(await settled).toEqual({ outcome: 'expired' });
  expect((await settings())[KEY]).toBeNull();
  expect((await aggregator.ask('linkStatus', { flow_id })).status).toBe('expired');
});

test('a refusal of the owner and one of the aggregator end the flow, in a sentence of ours', async () => {
  const { aggregator, settings } = await openAggregatorSystem();
  const refused = await aggregator.ask('startLink', {});
  expect(await aggregator.ask('settleLink', { nonce: refused.flow_id, error: '<b>no</b>' })).toEqual({
    outcome: 'refused',
  });
  expect(await aggregator.ask('linkStatus', { flow_id: refused.flow_id })).toEqual({
    status: 'error',
    error: 'The aggregator did not grant access.',
  });
  const forged = await aggregator.ask('startLink', {});
  expect(await aggregator.ask('settleLink', { nonce: forged.flow_id, code: 'forged' })).toEqual({
    outcome: 'failed',
  });
  expect(await aggregator.ask('linkStatus', { flow_id: forged.flow_id })).toEqual({
    status: 'error',
    error: 'The aggregator did not exchange the code for a key.',
  });
  expect((await settings())[KEY]).toBeNull();
});

test.each([
  ['no JSON', '<html>'],
  ['no key', '{"key": 7}'],
  ['a key that fits no header', '{"key": "two words"}'],
  ['an endless answer', `{"key": "${'k'.repeat(1024 * 1024)}"}`],
])('an exchange that answers %s links nothing', async (_, text) => {
  const { aggregator, double, settings, codeFor } = await openAggregatorSystem();
  double.answer('/auth/keys', { text });
  const { flow_id: nonce, authorization_url } = await aggregator.ask('startLink', {});
  const code = codeFor(authorization_url);
  expect(await aggregator.ask('settleLink', { nonce, code })).toEqual({ outcome: 'failed' });
  expect((await settings())[KEY]).toBeNull();
});

test('the code goes to where the consent was asked, even when the settings have changed since', async () => {
  const { aggregator, double, set, codeFor } = await openAggregatorSystem();
  const { flow_id: nonce, authorization_url } = await aggregator.ask('startLink', {});
  await set({ 'providers.openrouter.base_url': 'http://127.0.0.1:9/api/v1' });
  const code = codeFor(authorization_url);
  expect(await aggregator.ask('settleLink', { nonce, code })).toEqual({ outcome: 'linked' });
  expect(double.minted).toHaveLength(1);
});

test('unlinking forgets the key here, and says where to revoke it', async () => {
  const { aggregator, double, settings } = await openAggregatorSystem({ [KEY]: 'sk-or-v1-mine' });
  const revoke_url = `${double.site}/settings/keys`;
  expect(await aggregator.ask('unlink', {})).toEqual({ status: 'unlinked', had_key: true, revoke_url });
  expect((await settings())[KEY]).toBeNull();
  expect(await aggregator.ask('unlink', {})).toEqual({ status: 'unlinked', had_key: false, revoke_url });
  expect(double.requests).toEqual([]);
});

test('neither nonce, code, verifier nor key is in any log or answer', async () => {
  const { aggregator, double, logged, codeFor } = await openAggregatorSystem();
  const answers: unknown[] = [];
  const link = async (): Promise<readonly string[]> => {
    const { flow_id: nonce, authorization_url } = await aggregator.ask('startLink', {});
    const code = codeFor(authorization_url);
    answers.push(await aggregator.ask('settleLink', { nonce, code }));
    answers.push(await aggregator.ask('linkStatus', { flow_id: nonce }));
    const sent = double.requestsTo('/auth/keys').at(-1)?.body as { readonly code_verifier: string };
    expect(authorization_url).not.toContain(sent.code_verifier);
    return [nonce, code, sent.code_verifier];
  };
  const secrets = [...(await link())];
  double.answer('/auth/keys', { text: JSON.stringify({ error: 'sk-or-v1-echoed' }) });
  secrets.push(...(await link()), ...double.minted, 'sk-or-v1-echoed');
  expect(answers).toContainEqual({ outcome: 'failed' });
  expect(logged()).toContain('an account was not linked');
  expect(double.minted).toHaveLength(1);
  for (const secret of secrets) expect(logged() + JSON.stringify(answers)).not.toContain(secret);
});
