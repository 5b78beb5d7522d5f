import { describe, expect, test } from 'vitest';
import {
  DOCUMENT_LENGTH_MAX,
  DOCUMENT_TOKENS_MAX,
  documentTokens,
  QUERY_TOKENS_MAX,
  queryTokens,
  TOKEN_LENGTH_MAX,
} from '../../src/storage/tokenizer.ts';

describe('the tokenizer', () => {
  test.each([
    ['Hello, brave World-2!', ['hello', 'brave', 'world', '2']],
    ['Café CAFÉ cafe\u0301 cafe', ['cafe', 'cafe', 'cafe', 'cafe']],
    ['ＦＵＬＬ ｗｉｄｔｈ ﬁne', ['full', 'width', 'fine']],
    ['Ёлка Йод İstanbul Übergröße', ['елка', 'иод', 'istanbul', 'ubergroße']],
    ['Ἀθῆναι ΣΊΣΥΦΟΣ', ['αθηναι', 'σισυφος']],
    ['snake_case a.b don’t', ['snake', 'case', 'a', 'b', 'don', 't']],
    ['हिन्दी में', ['हिन्दी', 'में']],
    ['שָׁלוֹם مُحَمَّد', ['שלום', 'محمد']],
    ['😀 … —', []],
    ['', []],
  ])('finds the words of %j', (text, expected) => {
    expect(documentTokens(text)).toEqual(expected);
    expect(queryTokens(text)).toEqual([...new Set(expected)]);
  });

  test('files scripts without spaces by characters and pairs, and asks for the pairs', () => {
    expect(documentTokens('東京都 ok').sort()).toEqual(['ok', '東', '東京', '京', '京都', '都'].sort());
    expect(queryTokens('東京都')).toEqual(['東京', '京都']);
    expect(queryTokens('都')).toEqual(['都']);
    expect(queryTokens('ﾃﾞｰﾀ')).toEqual(queryTokens('データ'));
    expect(queryTokens('Node言語です')).toEqual(['node', '言語', '語で', 'です']);
    expect(queryTokens('𠮷野')).toEqual(['𠮷野']);
    expect(documentTokens('한국어')).toContain('국어');
  });

  test('bounds tokens and their number', () => {
    const many = Array.from({ length: 30_000 }, (_, index) => `w${index}`).join(' ');
    expect(documentTokens(many)).toHaveLength(DOCUMENT_TOKENS_MAX);
    expect(queryTokens(many)).toHaveLength(QUERY_TOKENS_MAX);
    expect(documentTokens('x'.repeat(1_000))).toEqual(['x'.repeat(TOKEN_LENGTH_MAX)]);
    const [cut = ''] = documentTokens(`${'x'.repeat(TOKEN_LENGTH_MAX - 1)}𝒳𐐨`);
    expect(cut.isWellFormed()).toBe(true);
  });

  test.each([
    ['in no order', 'a', '\u0301\u0323'],
    ['of one kind', 'a', '\u0301'],
    ['on an ideograph', '漢', '\u0301\u0323'],
    ['that are letters at first', 'テ', '\uff9e'],
  ])('takes a text of marks %s as any other', (_, letter, marks) => {
    // It took the square of their number, in minutes.
    const found = documentTokens(letter + marks.repeat(DOCUMENT_LENGTH_MAX / marks.length));
    expect(found).toHaveLength(1);
    expect(found[0]?.length).toBeLessThanOrEqual(TOKEN_LENGTH_MAX);
  });

  test('stands half characters', () => {
    expect(documentTokens('a\ud800b')).toEqual(['a', 'b']);
  });
});
