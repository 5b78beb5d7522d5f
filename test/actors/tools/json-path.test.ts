import { expect, test } from 'vitest';
import { selectByPath } from '../../../src/actors/tools/json-path.ts';
import { isFault } from '../../../src/std/errors.ts';

const store = {
  books: [
    { title: 'Sayings', price: 8.95, tags: ['old'] },
    { title: 'Sword', price: 12.99, isbn: 'x' },
    { title: 'Moby', price: 8.99, isbn: 'y' },
  ],
  'odd name': { title: 'odd' },
};

test.each<[string, readonly unknown[]]>([
  ['$.books[0].title', ['Sayings']],
  ['$.books[-1].title', ['Moby']],
  ['$.books[*].price', [8.95, 12.99, 8.99]],
  ["$['odd name'].title", ['odd']],
  ['$["odd name"]["title"]', ['odd']],
  ['$..title', ['Sayings', 'Sword', 'Moby', 'odd']],
  ['$.books[0,2].title', ['Sayings', 'Moby']],
  ['$.books[0:2].title', ['Sayings', 'Sword']],
  ['$.books[::2].title', ['Sayings', 'Moby']],
  ['$.books[-2:].title', ['Sword', 'Moby']],
  ['$.books[?(@.price < 10)].title', ['Sayings', 'Moby']],
  ["$.books[?@.title == 'Sword'].isbn", ['x']],
  ['$.books[?@.isbn].title', ['Sword', 'Moby']],
  ["$..[?(@.tags[0] == 'old')].title", ['Sayings']],
  ['$.books[9]', []],
  ['$.nothing.at.all', []],
  ['$.books.title', []],
  ['$.*.title', ['odd']],
])('%s', (path, expected) => {
  expect(selectByPath(store, path)).toEqual(expected);
});

test.each([
  '',
  'books',
  '$.',
  '$[',
  "$['open",
  '$.books[?(@.price <)]',
  '$.books[?(process.exit())]',
  '$.books[(@.length-1)]',
  '$..',
  '$.a b',
  '$[::0]',
])('%j is refused as a path', (path) => {
  expect(() => selectByPath(store, path)).toThrowError(/Bad JSON path/);
});

test('nothing but own members can be reached', () => {
  for (const path of ['$.constructor', '$.__proto__', "$['toString']", '$.books.length', '$..constructor']) {
    expect(selectByPath(store, path)).toEqual([]);
  }
  expect(selectByPath(JSON.parse('{"__proto__":{"a":1}}'), '$.__proto__.a')).toEqual([1]);
});

test.each(['$..*..*..*', `$[${Array(150).fill('0').join(',')}][${Array(80).fill('0').join(',')}][?@.x]`])(
  'a path that would visit too much is refused: %s',
  (path) => {
    const wide = [[Array.from({ length: 20_000 }, () => [1, [2, [3]]])]];
    expect(() => selectByPath(wide, path)).toThrowError(/too much/);
  },
);

test('a deep document is no harder than a wide one', () => {
  const deep: unknown = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000));
  expect(selectByPath(deep, '$..x')).toEqual([]);
});

test('a refusal is a declared fault', () => {
  try {
    selectByPath(store, 'x');
  } catch (error) {
    expect(isFault(error, 'json_path_invalid')).toBe(true);
  }
  expect.assertions(1);
});
