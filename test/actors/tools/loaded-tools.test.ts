import { expect, test } from 'vitest';
import { LoadedTools } from '../../../src/actors/tools/loaded-tools.ts';

test('a conversation keeps what was found in it, and no other has it', () => {
  const loaded = new LoadedTools();
  loaded.add('one', ['a', 'b']);
  loaded.add('one', ['b', 'c']);
  expect([...loaded.of('one')]).toEqual(['a', 'b', 'c']);
  expect([...loaded.of('two')]).toEqual([]);
  expect([...loaded.of(undefined)]).toEqual([]);
});

test('the newest of many tools are kept', () => {
  const loaded = new LoadedTools();
  loaded.add(
    'one',
    Array.from({ length: 100 }, (_, i) => `tool${i}`),
  );
  const names = [...loaded.of('one')];
  expect(names).toHaveLength(64);
  expect(names.at(-1)).toBe('tool99');
});

test('the conversation that was not used for longest makes room', () => {
  const loaded = new LoadedTools();
  for (let i = 0; i < 1_000; i += 1) loaded.add(`c${i}`, ['a']);
  expect(loaded.of('c0').size).toBe(1);
  loaded.add('new', ['a']);
  expect(loaded.of('c0').size).toBe(1);
  expect(loaded.of('c1').size).toBe(0);
});
