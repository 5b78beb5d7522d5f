import fc from 'fast-check';
import { expect, test } from 'vitest';
import { labelOf, toolNames } from '../../../src/actors/mcp/tool-names.ts';

const NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;

test('a plain name says which server and which tool', () => {
  expect(toolNames([{ server: 'files', tool: 'read_file' }])).toEqual(['files__read_file']);
  expect(labelOf({ server: 'files', tool: 'read_file' })).toBe('files.read_file');
});

test('what an API would not take is written otherwise', () => {
  const [dotted, digit, long] = toolNames([
    { server: 'my server', tool: 'issues.list' },
    { server: '3d', tool: 'draw' },
    { server: 'x'.repeat(64), tool: 'y'.repeat(200) },
  ]);
  expect(dotted).toBe('my_server__issues_list');
  expect(digit).toBe('_3d__draw');
  expect(long).toMatch(/^x{53}_[0-9a-f]{10}$/);
});

test('two tools whose names come to the same both get a name of their own, whoever else there is', () => {
  const clashing = [
    { server: 'a', tool: 'b.c' },
    { server: 'a', tool: 'b_c' },
  ];
  const names = toolNames(clashing);
  expect(new Set(names).size).toBe(2);
  const others = [{ server: 'z', tool: 'other' }, ...clashing].reverse();
  expect(toolNames(others).slice(0, 2).reverse()).toEqual(names);
});

test('a tool that is called like the outcome of that does not get in its way', () => {
  const clashing = [
    { server: 'a', tool: 'b.c' },
    { server: 'a', tool: 'b_c' },
  ];
  const [taken] = toolNames(clashing);
  const sly = { server: 'a', tool: (taken as string).slice('a__'.length) };
  expect(new Set(toolNames([...clashing, sly])).size).toBe(3);
});

test('any tools have different names that every API takes', () => {
  const part = fc.string({ minLength: 1, maxLength: 90 });
  const tools = fc.uniqueArray(fc.record({ server: part, tool: part }), {
    maxLength: 30,
    selector: ({ server, tool }) => JSON.stringify([server, tool]),
  });
  fc.assert(
    fc.property(tools, (given) => {
      const names = toolNames(given);
      expect(new Set(names).size).toBe(given.length);
      for (const name of names) expect(name).toMatch(NAME);
    }),
  );
});
