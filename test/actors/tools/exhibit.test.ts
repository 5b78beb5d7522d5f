import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Given, readElement } from '../../../src/actors/tools/exhibit-elements.ts';
import { exhibitTools } from '../../../src/actors/tools/exhibit-tool.ts';
import { Exhibit } from '../../../src/actors/tools/protocol.ts';
import type { ToolAnswer, ToolContext } from '../../../src/actors/tools/tool.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { fits } from '../../../src/std/validation.ts';

const element = (given: Given): object => {
  const read = readElement(given);
  if (!read.ok) throw new Error(read.problem);
  return read.element;
};
const problem = (given: Given): string => {
  const read = readElement(given);
  return read.ok ? '' : read.problem;
};
const context = { random: seededRandom(1) } as ToolContext;
const present = (args: object): ToolAnswer =>
  exhibitTools[0]?.run({ layout: 'stack', ...args }, context) as ToolAnswer;

test('choices are trimmed and without duplicates', () => {
  expect(element({ type: 'choice', options: [' a', 'a ', 'b', '', 3] })).toEqual({
    type: 'choice',
    prompt: null,
    options: ['a', 'b', '3'],
    title: null,
  });
  expect(problem({ type: 'choice', options: [' '] })).toContain('at least one');
  expect(problem({ type: 'choice', options: Array.from({ length: 11 }, (_, at) => `${at}`) })).toContain(
    'at most 10',
  );
});

test('cells become texts, and rows are padded or cut to the columns', () => {
  expect(
    element({ type: 'table', columns: ['a', 2], rows: [[1], ['x', null, 'cut'], [{ y: true }, false]] }),
  ).toEqual({
    type: 'table',
    columns: ['a', '2'],
    rows: [
      ['1', ''],
      ['x', ''],
      ['{"y":true}', 'false'],
    ],
    caption: null,
    title: null,
  });
  expect(problem({ type: 'table', columns: Array(13).fill('c'), rows: [] })).toContain('at most 12');
  expect(problem({ type: 'table', columns: ['a'], rows: ['not a row'] })).toContain('rows[0]');
});

test('a diagram begins with a known type, with or without a code fence', () => {
  expect(element({ type: 'mermaid', content: '```mermaid\ngraph TD\n A-->B\n```', title: ' T ' })).toEqual({
    type: 'mermaid',
    content: 'graph TD\n A-->B',
    title: 'T',
  });
  expect(element({ type: 'mermaid', content: 'stateDiagram-v2\n[*] --> a' })).toMatchObject({
    type: 'mermaid',
  });
  expect(problem({ type: 'mermaid', content: 'drawing of a cat' })).toContain('diagram type');
});

test('media are documents of a project, and nothing else', () => {
  const url = '/api/workspaces/ws_home/documents/d-1/raw';
  expect(element({ type: 'image', url })).toEqual({ type: 'image', url, alt: null, title: null });
  for (const bad of [
    `https://evil.example${url}`,
    `${url}?x=1`,
    '/api/workspaces/../documents/x/raw',
    '',
    5,
    `${url}\n`.repeat(2),
  ]) {
    expect(problem({ type: 'video', url: bad }), String(bad)).not.toBe('');
  }
});

test('sources get their defaults, and an address that runs code is refused', () => {
  expect(
    element({ type: 'citation', sources: [{ label: 'A', url: 'https://a.example/x', source_type: 'web' }] }),
  ).toEqual({
    type: 'citation',
    sources: [{ label: 'A', url: 'https://a.example/x', quote: null, kind: 'active', source_type: 'web' }],
    title: null,
  });
  for (const url of ['javascript:alert(1)', 'data:text/html,x', '//evil.example', '/\\evil.example']) {
    expect(problem({ type: 'citation', sources: [{ label: 'A', url }] }), url).toContain('http');
  }
});

test('whatever is given, an element that is accepted is a valid one', () => {
  const type = fc.constantFrom(
    'mermaid',
    'choice',
    'table',
    'citation',
    'image',
    'audio',
    'video',
    'text',
    'other',
  );
  fc.assert(
    fc.property(
      type,
      fc.dictionary(
        fc.constantFrom('content', 'options', 'columns', 'rows', 'sources', 'url', 'title', 'label'),
        fc.jsonValue(),
      ),
      (type, given) => {
        const read = readElement({ ...given, type });
        if (!read.ok) return read.problem !== '';
        const exhibit = {
          schema_version: 1,
          id: 'x',
          title: null,
          layout: 'stack',
          elements: [read.element],
        };
        return fits(Exhibit, exhibit);
      },
    ),
    { numRuns: 500 },
  );
});

test('an exhibit without an id gets one, and one with an id keeps it', () => {
  const elements = [{ type: 'text', content: 'hello' }];
  const minted = present({ elements });
  expect(minted.exhibits?.[0]?.id).toMatch(/^exh_[0-9a-f]{12}$/);
  expect(JSON.parse(minted.content)).toEqual({ status: 'shown', exhibit_id: minted.exhibits?.[0]?.id });
  expect(present({ elements, id: ' mine ', title: '', layout: 'grid' }).exhibits?.[0]).toMatchObject({
    id: 'mine',
    title: null,
    layout: 'grid',
    schema_version: 1,
  });
});

test('one malformed element and nothing is shown; the model is told where', () => {
  const answer = present({
    elements: [
      { type: 'text', content: 'fine' },
      { type: 'text', content: ' ' },
    ],
  });
  expect(answer.exhibits).toBeUndefined();
  expect(answer.content).toMatch(/^\{"error":"The exhibit was not shown. elements\[1\]: content/);
});
