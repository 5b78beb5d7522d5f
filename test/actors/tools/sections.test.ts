import { expect, test } from 'vitest';
import { findSection, sectionsOf } from '../../../src/actors/tools/sections.ts';

const document = `intro
# One
first
## Detail of one
deep
# Two
second
\`\`\`sh
# not a heading
\`\`\`
#nor this
`;

test('a section goes from its heading to the next of its level', () => {
  const sections = sectionsOf(document);
  expect(sections.map(({ name, level }) => [name, level])).toEqual([
    ['One', 1],
    ['Detail of one', 2],
    ['Two', 1],
  ]);
  expect(sections[0]?.text).toBe('# One\nfirst\n## Detail of one\ndeep\n');
  expect(sections[2]?.text).toContain('#nor this');
});

test('the members of a JSON object are its sections', () => {
  expect(sectionsOf('{"a":"text","b":[1]}')).toEqual([
    { name: 'a', level: 1, text: 'text' },
    { name: 'b', level: 1, text: '[\n 1\n]' },
  ]);
  expect(sectionsOf('{ not json')).toEqual([]);
});

test('a section is found by its name, or by a part that only one has', () => {
  const sections = sectionsOf(document);
  expect(findSection(sections, ' two ')?.name).toBe('Two');
  expect(findSection(sections, 'detail')?.name).toBe('Detail of one');
  expect(findSection(sections, 'one')?.name).toBe('One');
  expect(findSection(sections, 'nothing')).toBeUndefined();
  expect(findSection(sections, '')).toBeUndefined();
});

test('a text of headings only, or of one endless line, is no trouble', () => {
  expect(sectionsOf('# a\n'.repeat(100_000))).toHaveLength(500);
  expect(sectionsOf(`#${'#'.repeat(5_000_000)}`)).toEqual([]);
});
