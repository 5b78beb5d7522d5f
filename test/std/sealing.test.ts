import { expect, test } from 'vitest';
import { newSealingKey, sealer } from '../../src/std/sealing.ts';

test('a sealed text opens under its label with its key', () => {
  const mine = sealer(newSealingKey());
  const sealed = mine.seal('a', 'Grüße, sesame');
  expect(mine.open('a', sealed)).toBe('Grüße, sesame');
  for (const readable of [sealed, Buffer.from(sealed, 'base64url').toString('latin1')])
    expect(readable).not.toContain('sesame');
});

test('the same text is sealed differently each time', () => {
  const mine = sealer(newSealingKey());
  expect(mine.seal('a', 'x')).not.toBe(mine.seal('a', 'x'));
});

test('another label, another key, a changed byte or a cut open nothing', () => {
  const key = newSealingKey();
  const mine = sealer(key);
  const sealed = mine.seal('a', 'secret');
  expect(mine.open('b', sealed)).toBeUndefined();
  expect(sealer(newSealingKey()).open('a', sealed)).toBeUndefined();
  const bytes = Buffer.from(sealed, 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(mine.open('a', changed.toString('base64url'))).toBeUndefined();
  }
  expect(mine.open('a', sealed.slice(0, 10))).toBeUndefined();
  expect(mine.open('a', '')).toBeUndefined();
});
