import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunksOf } from '../../../src/actors/ingestion/chunks.ts';
import type { DocumentKind } from '../../../src/actors/ingestion/kinds.ts';
import { Outline } from '../../../src/actors/ingestion/outline.ts';
import {
  CHUNK_CHARS_MAX,
  CHUNK_OVERLAP_CHARS_MAX,
  type Chunk,
} from '../../../src/actors/ingestion/parser-protocol.ts';

const KINDS: readonly DocumentKind[] = ['pdf', 'markdown', 'code', 'csv', 'json', 'html', 'text'];

function chunked(text: string, kind: DocumentKind): readonly Chunk[] {
  return [...chunksOf(text, new Outline(text, kind))];
}

/** The first lines of the chunks behind the first, where the overlap ends: what the cut was made for. */
function cutsOf(text: string, chunks: readonly Chunk[]): readonly string[] {
  return chunks.slice(0, -1).map(({ end }) => text.slice(end).trimStart().split('\n', 1)[0] ?? '');
}

describe('chunks of any text', () => {
  const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 });
  const line = fc.array(word, { maxLength: 40 }).map((words) => words.join(' '));
  const texts = fc.array(line, { maxLength: 120 }).map((lines) => lines.join('\n'));

  test('are small, overlap a little, and leave nothing out', () => {
    fc.assert(
      fc.property(texts, fc.constantFrom(...KINDS), (text, kind) => {
        let covered = 0;
        let startBefore = -1;
        for (const chunk of chunked(text, kind)) {
          expect(chunk.text).toBe(text.slice(chunk.start, chunk.end));
          expect(chunk.text.trim()).not.toBe('');
          expect(chunk.text.length).toBeLessThanOrEqual(CHUNK_CHARS_MAX);
          expect(chunk.text.isWellFormed()).toBe(true);
          expect(chunk.start).toBeGreaterThan(startBefore);
          expect(chunk.start).toBeGreaterThanOrEqual(covered - CHUNK_OVERLAP_CHARS_MAX);
          expect(text.slice(covered, chunk.start).trim()).toBe('');
          expect(text.slice(0, chunk.start).split('\n').length).toBe(chunk.line);
          expect(text.slice(0, chunk.end).split('\n').length).toBe(chunk.lineEnd);
          covered = chunk.end;
          startBefore = chunk.start;
        }
        expect(text.slice(covered).trim()).toBe('');
      }),
      { numRuns: 150 },
    );
  });

  test('are made of a line without end, too', () => {
    const chunks = chunked('😀'.repeat(5_000), 'text');
    expect(chunks.every(({ text }) => text.isWellFormed())).toBe(true);
    expect(chunks.at(-1)?.end).toBe(10_000);
  });
});

describe('a chunk ends', () => {
  const filler = 'Some words that fill the line up to its end, as words do.\n';

  test('in front of a heading, not of one in a fence', () => {
    const text = `${filler.repeat(9)}\n# Whales\n\n\`\`\`sh\n# no heading\n${filler.repeat(8)}\`\`\`\n\n## Ships\n\n${filler.repeat(20)}`;
    expect(cutsOf(text, chunked(text, 'markdown')).slice(0, 2)).toEqual(['# Whales', '## Ships']);
  });

  test('in front of a function, with the comment that belongs to it', () => {
    const body = `  const value = compute(input, options);\n`.repeat(14);
    const text = `import x from 'y';\n\nfunction one() {\n${body}}\n\n/** Two does more. */\nexport async function two() {\n${body}}\n\nclass Three {\n${body}}\n`;
    expect(cutsOf(text, chunked(text, 'code'))).toEqual(['/** Two does more. */', 'class Three {']);
  });

  test('in front of a definition of Python, Go, Rust and SQL', () => {
    const bodies = (line: string): string => `${line}\n`.repeat(18);
    for (const [head, body] of [
      ['def whales(sea):', '    the_sea_is_full_of(whales, of, all, kinds)'],
      ['func (s *Sea) Whales() int {', '\tcountTheWhales(s, of, all, kinds, and, more)'],
      ['pub(crate) fn whales(sea: &Sea) -> u32 {', '    count_the_whales(sea, of, all, kinds);'],
      ['CREATE TABLE whales (', '  some_column varchar(40) not null default 1,'],
    ] as const) {
      const text = `${head}\n${bodies(body)}\n${head}\n${bodies(body)}`;
      expect(cutsOf(text, chunked(text, 'code'))).toContain(head);
    }
  });

  test('in front of a record, not in a quoted field', () => {
    const record = `"a field\nof several\nlines",${'x'.repeat(80)},3\n`;
    const text = `name,more,count\n${record.repeat(40)}`;
    const cuts = cutsOf(text, chunked(text, 'csv'));
    expect(cuts.length).toBeGreaterThan(3);
    expect(new Set(cuts)).toEqual(new Set(['"a field']));
  });

  test('behind a sentence of a long paragraph', () => {
    const text = 'One sentence that is some sixty characters long, more or less. '.repeat(60);
    for (const chunk of chunked(text, 'text')) expect(chunk.text).toMatch(/\.$/);
  });
});
