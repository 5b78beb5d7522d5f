import { expect, test } from 'vitest';
import { failureLine } from '../../../src/actors/runtime/view.ts';

test.each([
  ['the call failed: api_key=sk-abcdef0123456789 was refused', 'the call failed: api_key=*** was refused'],
  ['{"token": "very secret", "n": 1}', '{"token": ***, "n": 1}'],
  ["password: 'hunter two'", 'password: ***'],
  ['Authorization: Bearer abc.def-ghi', 'Authorization: ***'],
  ['sent Bearer abc.def-ghi and failed', 'sent Bearer *** and failed'],
  ['https://user:pass@host/path is down', 'https://***@host/path is down'],
  ['sk-live-0123456789abcdef is no key', '*** is no key'],
  ['connect ECONNREFUSED 127.0.0.1:4', 'connect ECONNREFUSED 127.0.0.1:4'],
  ['two\n  lines', 'two lines'],
])('%j is shown as %j', (failure, shown) => {
  expect(failureLine(failure)).toBe(shown);
});

test('a long failure is cut', () => {
  expect(failureLine('x'.repeat(1_000))).toHaveLength(201);
});
