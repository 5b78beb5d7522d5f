import { expect, test } from 'vitest';
import { ENDPOINT, GENERATION } from '../../support/aggregator-double.ts';
import { KEY, openAggregatorSystem } from './aggregator-system.ts';

const MINE = 'sk-or-v1-mine-0123456789';

test('the account is what the aggregator says of key and credits', async () => {
  const { aggregator, double } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  expect(await aggregator.ask('account', {})).toEqual({
    available: true,
    label: 'sk-or-v1-abc...xyz',
    limit: null,
    limit_remaining: null,
    limit_reset: null,
    usage: 4.5,
    usage_daily: 0.25,
    usage_monthly: 3.5,
    is_free_tier: false,
    expires_at: null,
    total_credits: 25,
    total_usage: 4.5,
  });
  expect(double.requestsTo('/key')[0]?.authorization).toBe(`Bearer ${MINE}`);
});

test('without a key, or with one that is rejected, there is no account and no error', async () => {
  const { aggregator, double, set } = await openAggregatorSystem();
  expect(await aggregator.ask('account', {})).toEqual({ available: false });
  expect(double.requests).toEqual([]);
  await set({ [KEY]: 'sk-or-v1-revoked' });
  expect(await aggregator.ask('account', {})).toEqual({ available: false });
});

test('a key that may not see the credits still shows what it may see', async () => {
  const { aggregator, double } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  double.answer('/credits', { status: 403 });
  expect(await aggregator.ask('account', {})).toMatchObject({
    available: true,
    usage: 4.5,
    total_credits: null,
  });
});

test('an account is asked for once a minute, by however many, and anew with another key', async () => {
  const { aggregator, double, set, elapse } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  double.accept('sk-or-v1-other');
  const asked = () => double.requestsTo('/key').length;
  await Promise.all([1, 2, 3].map(() => aggregator.ask('account', {})));
  elapse(50_000);
  await aggregator.ask('account', {});
  expect(asked()).toBe(1);
  elapse(10_000);
  await aggregator.ask('account', {});
  expect(asked()).toBe(2);
  await set({ [KEY]: 'sk-or-v1-other' });
  await aggregator.ask('account', {});
  expect(asked()).toBe(3);
  await aggregator.ask('unlink', {});
  expect(await aggregator.ask('account', {})).toEqual({ available: false });
  expect(asked()).toBe(3);
});

test('a failure is an upstream fault, says nothing of the key, and is not kept', async () => {
  const { aggregator, double } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  double.answer('/key', { status: 500 });
  const failure = await aggregator.ask('account', {}).then(
    () => null,
    (error) => error,
  );
  expect(failure).toMatchObject({ code: 'aggregator_failed', kind: 'upstream' });
  expect(failure.message).not.toContain(MINE);
  double.answer('/key', null);
  expect(await aggregator.ask('account', {})).toMatchObject({ available: true });
});

test('endpoints and generations are passed on as they are', async () => {
  const { aggregator, double } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  expect(await aggregator.ask('endpoints', { author: 'openai', slug: 'gpt-4o' })).toEqual({
    id: 'openai/gpt-4o',
    endpoints: [ENDPOINT],
  });
  expect(await aggregator.ask('generation', { id: 'gen-1' })).toEqual(GENERATION);
});

test('what the aggregator does not know is not found, what it fails at is its failure', async () => {
  const { aggregator, double } = await openAggregatorSystem({ [KEY]: MINE });
  double.accept(MINE);
  const kindOf = (asked: Promise<unknown>) =>
    asked.then(
      () => 'answered',
      (error) => error.kind,
    );
  expect(await kindOf(aggregator.ask('endpoints', { author: 'openai', slug: 'none' }))).toBe('not_found');
  expect(await kindOf(aggregator.ask('generation', { id: 'gen-2' }))).toBe('not_found');
  double.answer('/generation', { status: 503 });
  expect(await kindOf(aggregator.ask('generation', { id: 'gen-1' }))).toBe('upstream');
  double.answer('/generation', { text: '{"data": "none"}' });
  expect(await kindOf(aggregator.ask('generation', { id: 'gen-1' }))).toBe('upstream');
  double.answer('/generation', { text: JSON.stringify({ data: { long: 'x'.repeat(1024 * 1024) } }) });
  expect(await kindOf(aggregator.ask('generation', { id: 'gen-1' }))).toBe('upstream');
  await aggregator.ask('unlink', {});
  expect(await kindOf(aggregator.ask('generation', { id: 'gen-1' }))).toBe('unprocessable');
});
