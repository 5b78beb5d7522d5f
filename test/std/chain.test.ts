import { expect, test } from 'vitest';
import { Chain, type Linked } from '../../src/std/chain.ts';

class Letter implements Linked<Letter> {
  chain: Chain<Letter> | null = null;
  before: Letter | null = null;
  behind: Letter | null = null;
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

function chainOf(names: string): { readonly chain: Chain<Letter>; readonly letters: readonly Letter[] } {
  const chain = new Chain<Letter>();
  const letters = [...names].map((name) => new Letter(name));
  for (const letter of letters) chain.push(letter);
  return { chain, letters };
}

function rest(chain: Chain<Letter>): string {
  let names = '';
  for (let letter = chain.shift(); letter !== null; letter = chain.shift()) names += letter.name;
  return names;
}

test('what comes first leaves first', () => {
  const { chain } = chainOf('abc');
  expect(chain.first?.name).toBe('a');
  expect(rest(chain)).toBe('abc');
  expect(chain.first).toBeNull();
});

test.each([
  ['the head', 0, 'bcd'],
  ['the middle', 1, 'acd'],
  ['the end', 2, 'abd'],
])('%s can be taken out, and joins again behind all others', (_, index, left) => {
  const { chain, letters } = chainOf('abc');
  const letter = letters[index] as Letter;
  chain.remove(letter);
  expect(chain.has(letter)).toBe(false);
  chain.push(new Letter('d'));
  chain.push(letter);
  expect(chain.has(letter)).toBe(true);
  expect(rest(chain)).toBe(left + letter.name);
});

test('what has left points at nothing', () => {
  const { chain, letters } = chainOf('abc');
  chain.shift();
  chain.remove(letters[1] as Letter);
  for (const { chain: place, before, behind } of letters.slice(0, 2)) {
    expect([place, before, behind]).toEqual([null, null, null]);
  }
  expect(rest(chain)).toBe('c');
});
