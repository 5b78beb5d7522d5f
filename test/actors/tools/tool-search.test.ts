import { expect, test } from 'vitest';
import { rankedTools } from '../../../src/actors/tools/tool-search.ts';

const TOOLS = [
  { label: 'github.create_issue', description: 'Opens a new issue in a repository.' },
  { label: 'github.list_pull_requests', description: 'Lists the pull requests of a repository.' },
  { label: 'files.readTextFile', description: 'Reads a file as text.' },
  { label: 'files.write_file', description: 'Writes a file, and creates it when it is missing.' },
  { label: 'weather.forecast', description: 'Tells the weather of the next days at a place.' },
];

const found = (query: string, limit = 3): string[] =>
  rankedTools(TOOLS, query, limit).map(({ label }) => label);

test('words of a name count most, however the name joins them', () => {
  expect(found('pull requests')[0]).toBe('github.list_pull_requests');
  expect(found('read text')[0]).toBe('files.readTextFile');
  expect(found('github.create_issue')[0]).toBe('github.create_issue');
});

test('words of a description and beginnings of words are found too', () => {
  expect(found('place')).toEqual(['weather.forecast']);
  expect(found('forecasts for tomorrow')).toEqual(['weather.forecast']);
});

test('a word that few have outweighs one that many have', () => {
  expect(found('write file')[0]).toBe('files.write_file');
});

test('what no word hits is not found, and no more than was asked for', () => {
  expect(found('quantum')).toEqual([]);
  expect(found('?!')).toEqual([]);
  expect(found('file repository weather', 2)).toHaveLength(2);
});
