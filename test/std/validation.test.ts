import { expect, test } from 'vitest';
import { Type } from '../../src/std/schema.ts';
import { validate } from '../../src/std/validation.ts';

const Page = Type.Object({ key: Type.String(), limit: Type.Integer({ minimum: 1, default: 10 }) });

test('defaults are filled in, in a copy', () => {
  const given = { key: 'a' };
  expect(validate(Page, given)).toEqual({ ok: true, value: { key: 'a', limit: 10 } });
  expect(given).toEqual({ key: 'a' });
});

test('nothing is converted', () => {
  expect(validate(Page, { key: 'a', limit: '5' })).toMatchObject({ ok: false, problems: [{ at: '/limit' }] });
});

test('a value that is no object is a problem, not a crash', () => {
  for (const given of [null, undefined, 5, 'x', []]) expect(validate(Page, given).ok).toBe(false);
});
