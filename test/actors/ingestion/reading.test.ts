import { describe, expect, test } from 'vitest';
import { parseFile, refusal } from '../../support/parsing.ts';
import { pdfOf, pdfOfObjectStream, pdfOfStreams } from '../../support/pdf.ts';

describe('a PDF', () => {
  test('is read page by page, compressed or not', async () => {
    for (const compressed of [true, false]) {
      const pages = [['Of whales (and ships)', 'a second line'], [], ['Of harbours']];
      const { text, chunks } = await parseFile('a.pdf', pdfOf(pages, { compressed }));
      expect(text).toBe('Of whales (and ships)\na second line\n\nOf harbours\n');
      expect(chunks).toMatchObject([{ page: 1, line: 1, lineEnd: 4 }]);
    }
  });

  test('says of each chunk on which page it begins', async () => {
    const page = Array.from({ length: 40 }, (_, i) => `Line ${i} of a page that is rather full of words.`);
    const { chunks } = await parseFile('a.pdf', pdfOf([page, page, page], { compressed: true }));
    expect(chunks.map((chunk) => chunk.page)).toEqual(chunks.map((chunk) => chunk.page).toSorted());
    expect(new Set(chunks.map((chunk) => chunk.page))).toEqual(new Set([1, 2, 3]));
    expect(chunks.filter(({ text }) => text.startsWith('Line 0 ')).length).toBeGreaterThan(0);
  });

  test('that is protected by a password is refused as such', async () => {
    expect(await refusal(parseFile('a.pdf', pdfOf([['secret']], { encrypted: true })))).toBe(
      'document_encrypted',
    );
  });

  test('with pictures only has no text', async () => {
    expect(await refusal(parseFile('a.pdf', pdfOf([[], []])))).toBe('document_without_text');
  });

  test('that is damaged, cut short or something else is refused, whatever is in it', async () => {
    const whole = pdfOf([['some text']], { compressed: true });
    expect(await refusal(parseFile('a.pdf', '%PDF-1.7 nothing behind it'))).toBe('document_unreadable');
    expect(await refusal(parseFile('a.pdf', 'plain text'))).toBe('document_unreadable');
    expect(await refusal(parseFile('a.pdf', whole.subarray(0, 30)))).toBe('document_unreadable');
    for (let at = 0; at < whole.length; at += 7) {
      const bent = Buffer.from(whole);
      bent[at] = (bent[at] ?? 0) ^ 0x5f;
      expect(await refusal(parseFile('a.pdf', bent))).not.toMatch(/^a bug/);
    }
  });

  test('whose page expands beyond measure is refused, and the next one is read', async () => {
    const blanks = Buffer.alloc(56 * 1024 * 1024, 0x20);
    const bomb = pdfOfStreams([blanks], { compressed: true });
    expect(bomb.length).toBeLessThan(1024 * 1024);
    expect(await refusal(parseFile('a.pdf', bomb))).toBe('document_too_large');
    expect((await parseFile('a.pdf', pdfOf([['fine']]))).text).toBe('fine\n');
  });

  test('whose objects expand beyond measure is refused', async () => {
    const bomb = pdfOfObjectStream(56 * 1024 * 1024);
    expect(bomb.length).toBeLessThan(1024 * 1024);
    expect(await refusal(parseFile('a.pdf', bomb))).toBe('document_too_large');
    expect(await refusal(parseFile('a.pdf', pdfOfObjectStream(10)))).toBe('document_without_text');
  });

  test('with too much text is refused before its page is at its end', async () => {
    // Drawn small: what lies outside of the page is not read.
    const lines = `(${'a'.repeat(20)}) Tj T*\n`.repeat(40_000);
    const page = Buffer.from(`BT /F1 0.01 Tf 0.014 TL 50 750 Td\n${lines}ET`);
    const pdf = pdfOfStreams([page], { compressed: true, letterA: 'whale '.repeat(80) });
    expect(await refusal(parseFile('a.pdf', pdf))).toBe('document_too_large');
  });

  test('with too many pages is refused', async () => {
    const pages = Array.from({ length: 5_001 }, () => []);
    expect(await refusal(parseFile('a.pdf', pdfOf(pages)))).toBe('document_too_large');
  });
});

describe('a text', () => {
  const sentence =
    "L'élève était très fatigué après la journée à l'école, où il avait lu un livre où rien n'arrivait. ";

  test.each([
    ['UTF-8', Buffer.from(sentence)],
    ['UTF-8 with a mark', Buffer.from(`\ufeff${sentence}`)],
    ['UTF-16, little end first', Buffer.from(`\ufeff${sentence}`, 'utf16le')],
    ['UTF-16, big end first', Buffer.from(`\ufeff${sentence}`, 'utf16le').swap16()],
    ['Latin-1', Buffer.from(sentence.repeat(5), 'latin1')],
  ])('in %s is decoded', async (_, bytes) => {
    expect((await parseFile('a.txt', bytes)).text).toContain("L'élève était très fatigué après");
  });

  test('in Shift_JIS is decoded', async () => {
    // 日本語の文章です。 again and again.
    const bytes = Buffer.from('93fa967b8cea82cc95b68fcd82c582b78142'.repeat(20), 'hex');
    expect((await parseFile('a.txt', bytes)).text).toContain('日本語の文章です。');
  });

  test('of bytes that are none is refused', async () => {
    const bytes = Buffer.from(Array.from({ length: 4_000 }, (_, i) => (i * 7_919) % 256));
    expect(await refusal(parseFile('a.txt', bytes))).toBe('document_unreadable');
  });

  test('of nothing has no text', async () => {
    expect(await refusal(parseFile('a.md', ' \r\n\t\n'))).toBe('document_without_text');
  });

  test('has one kind of line end', async () => {
    expect((await parseFile('a.txt', 'one\r\ntwo\rthree')).text).toBe('one\ntwo\nthree');
    // In however many pieces it is looked at.
    for (const before of ['', 'x']) {
      const { text } = await parseFile('a.txt', `${before}${'\r\n'.repeat(300_000)}end`);
      expect(text).toBe(`${before}${'\n'.repeat(300_000)}end`);
    }
  });
});

describe('a page of HTML', () => {
  test('is what a reader would read, without scripts and styles', async () => {
    const html = `<!doctype html><html><head><title>A &amp; B</title><style>p { color: red }</style></head>
      <body><script>alert('no')</script><h2>Whales</h2><p>They <b>swim</b>,
      and breathe.</p><ul><li>blue<li>grey</ul><table><tr><th>a<th>b<tr><td>1<td>2</table>
      <pre>  kept\n   as it is</pre><noscript>no</noscript><img src="http://127.0.0.1/x.png" onerror="no()"></body>`;
    expect((await parseFile('a.html', html)).text).toBe(
      '# A & B\n\n## Whales\n\nThey swim, and breathe.\n\n- blue\n- grey\n\n| a | b\n| 1 | 2\n\n  kept\n   as it is',
    );
  });

  test('that is nested without end is refused', async () => {
    expect(await refusal(parseFile('a.html', '<div>'.repeat(100_000)))).toBe('document_unreadable');
  });
});

describe('JSON', () => {
  test('on one line is laid out', async () => {
    const { text } = await parseFile(
      'a.json',
      JSON.stringify({ whales: Array.from({ length: 100 }, (_, i) => ({ i })) }),
    );
    expect(text.split('\n').slice(0, 4)).toEqual(['{', '  "whales": [', '    {', '      "i": 0']);
  });

  test('that is laid out says what it said', async () => {
    const pad = 'x'.repeat(2_000);
    const value = { pad, list: [[], {}, [1, -2.5e-7, null, true], { a: { b: '"{[,:]}" \\ \n' } }], '': '' };
    const spaced = JSON.stringify(value).replaceAll('],', ' ] , ').replaceAll('[1', ' [ 1');
    for (const written of [JSON.stringify(value), spaced]) {
      expect((await parseFile('a.json', written)).text).toBe(JSON.stringify(value, null, 2));
    }
    const escaped = `{"pad":"${pad}","name":"\\u65e5\\u672c","number":12345678901234567890}`;
    expect((await parseFile('a.json', escaped)).text).toContain(
      '\n  "name": "日本",\n  "number": 12345678901234567890\n',
    );
  });

  test('that is none, or nested without end, is read as text', async () => {
    expect((await parseFile('a.json', '{ "a": oops }')).text).toBe('{ "a": oops }');
    for (const none of ['['.repeat(200_000), `[${'1,'.repeat(1_000)}}`, `{"a": "${'x'.repeat(1_000)}`]) {
      expect((await parseFile('a.json', none)).text).toBe(none);
    }
  });
});
