import { expect, test } from 'vitest';
import {
  beginFlow,
  cancelOf,
  challengeOf,
  claimFlow,
  FLOW_LIFETIME_MS,
  inPhase,
  statusOf,
} from '../../../src/actors/aggregator/link-flow.ts';
import { seededRandom } from '../../../src/std/ids.ts';

const begun = beginFlow('https://openrouter.ai/api/v1', seededRandom(1), 1_000);
const LAST_MS = 1_000 + FLOW_LIFETIME_MS - 1;

test('the challenge is the hash of the verifier, as the example of the standard has it', () => {
  const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
  expect(challengeOf({ ...begun, verifier })).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM');
});

test('a flow can be claimed once, for ten minutes', () => {
  const arrival = { nonce: begun.id, code: 'c' };
  const claim = claimFlow(begun, arrival, LAST_MS);
  expect(claim).toMatchObject({ kind: 'claimed', code: 'c', flow: { phase: { kind: 'exchanging' } } });
  if (claim.kind !== 'claimed') return;
  expect(claimFlow(claim.flow, arrival, LAST_MS)).toEqual({ kind: 'replayed' });
  expect(claimFlow(begun, arrival, LAST_MS + 1)).toEqual({ kind: 'expired' });
  expect(claimFlow(inPhase(begun, { kind: 'linked' }), arrival, LAST_MS + 1)).toEqual({ kind: 'replayed' });
});

test('a stranger claims nothing', () => {
  expect(claimFlow(begun, { nonce: 'x'.repeat(64), code: 'c' }, 1_000)).toEqual({ kind: 'expired' });
  expect(claimFlow(null, { nonce: begun.id, code: 'c' }, 1_000)).toEqual({ kind: 'expired' });
});

test('a refusal settles a flow; an arrival without anything, or with far too much, does not', () => {
  expect(claimFlow(begun, { nonce: begun.id, error: 'access_denied' }, 1_000)).toMatchObject({
    kind: 'refused',
    flow: { phase: { kind: 'failed' } },
  });
  expect(claimFlow(begun, { nonce: begun.id }, 1_000)).toEqual({ kind: 'incomplete' });
  expect(claimFlow(begun, { nonce: begun.id, code: 'c'.repeat(2_001) }, 1_000)).toEqual({
    kind: 'incomplete',
  });
});

test('the status of a pending flow expires, that of a settled one stays', () => {
  expect(statusOf(begun, begun.id, LAST_MS).status).toBe('pending');
  expect(statusOf(begun, begun.id, LAST_MS + 1).status).toBe('expired');
  expect(statusOf(inPhase(begun, { kind: 'linked' }), begun.id, LAST_MS + 1).status).toBe('linked');
  expect(statusOf(inPhase(begun, { kind: 'failed', error: 'No.' }), begun.id, LAST_MS + 1)).toEqual({
    status: 'error',
    error: 'No.',
  });
  expect(statusOf(begun, 'another', 1_000).status).toBe('expired');
  expect(statusOf(begun, undefined, 1_000).status).toBe('expired');
});

test('a flow can be cancelled until its key is minted', () => {
  expect(cancelOf(begun, begun.id)).toBe('cancelled');
  expect(cancelOf(inPhase(begun, { kind: 'exchanging' }), begun.id)).toBe('cancelled');
  expect(cancelOf(inPhase(begun, { kind: 'storing' }), begun.id)).toBe('pending');
  expect(cancelOf(inPhase(begun, { kind: 'linked' }), begun.id)).toBe('linked');
  expect(cancelOf(null, begun.id)).toBe('cancelled');
});
