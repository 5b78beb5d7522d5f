// HtmlText: what a reader of a page would read, with headings, lists and tables as in markdown. Scripts, styles and what is not shown are left out; nothing is fetched (P1).

import { Parser } from 'htmlparser2';
import { parserFaults } from './parser-protocol.ts';
import { piecesOf } from './pieces.ts';

const SKIPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'head',
]);
const BLOCKS = new Set(
  (
    'address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form header hr html ' +
    'li main nav ol p pre section summary table tbody tfoot thead tr ul title'
  ).split(' '),
);
const HEADING = /^h([1-6])$/;

/** The time that the parser takes grows with the square of the depth. */
const DEPTH_MAX = 2_000;

/** @throws document_unreadable */
export function htmlText(html: string): string {
  const writer = new TextWriter();
  const parser = new Parser(
    {
      onopentagname: (name) => writer.open(name),
      ontext: (text) => writer.text(text),
      onclosetag: (name) => writer.close(name),
    },
    { decodeEntities: true },
  );
  for (const piece of piecesOf(html)) parser.write(piece);
  parser.end();
  return writer.written();
}

class TextWriter {
  readonly #parts: string[] = [];
  #depth = 0;
  /** How many open elements are left out, and of `pre` are open. */
  #skipped = 0;
  #preformatted = 0;
  #inTitle = false;
  /** Line ends that are owed before the next text, and what that text begins with. */
  #breaks = 0;
  #prefix = '';
  #needsSpace = false;

  open(name: string): void {
    this.#depth += 1;
    if (this.#depth > DEPTH_MAX) {
      throw parserFaults.document_unreadable(`The page is nested more than ${DEPTH_MAX} levels deep`);
    }
    // A title is in the head, and worth reading.
    if (name === 'title') this.#inTitle = true;
    else if (SKIPPED.has(name)) this.#skipped += 1;
    const level = HEADING.exec(name)?.[1];
    if (level !== undefined) this.#begin(2, `${'#'.repeat(Number(level))} `);
    else if (name === 'title') this.#begin(2, '# ');
    else if (name === 'p' || name === 'pre' || name === 'table' || name === 'blockquote') this.#begin(2);
    else if (name === 'li') this.#begin(1, '- ');
    else if (name === 'td' || name === 'th') this.#cell();
    else if (name === 'br') this.#breaks += 1;
    else if (BLOCKS.has(name)) this.#begin(1);
    if (name === 'pre') this.#preformatted += 1;
  }

  close(name: string): void {
    this.#depth -= 1;
    if (name === 'title') this.#inTitle = false;
    else if (SKIPPED.has(name)) this.#skipped = Math.max(0, this.#skipped - 1);
    if (name === 'pre') this.#preformatted = Math.max(0, this.#preformatted - 1);
    if (HEADING.test(name) || name === 'p' || name === 'pre' || name === 'table' || name === 'title') {
      this.#begin(2);
    } else if (BLOCKS.has(name)) this.#begin(1);
  }

  text(text: string): void {
    if (this.#skipped > 0 && !this.#inTitle) return;
    if (this.#preformatted > 0) {
      this.#put(text);
      return;
    }
    const words = text.split(/\s+/).join(' ');
    if (words === ' ' || words === '') {
      this.#needsSpace ||= words === ' ';
      return;
    }
    if (words.startsWith(' ')) this.#needsSpace = true;
    this.#put(words.trim());
    this.#needsSpace = words.endsWith(' ');
  }

  written(): string {
    return this.#parts.join('').trim();
  }

  #begin(breaks: number, prefix = ''): void {
    this.#breaks = Math.max(this.#breaks, breaks);
    this.#prefix = prefix;
    this.#needsSpace = false;
  }

  #cell(): void {
    if (this.#breaks > 0) this.#prefix = '| ';
    else this.#parts.push(' | ');
    this.#needsSpace = false;
  }

  #put(text: string): void {
    if (this.#parts.length > 0 && this.#breaks > 0) this.#parts.push('\n'.repeat(Math.min(this.#breaks, 2)));
    else if (this.#needsSpace && this.#parts.length > 0) this.#parts.push(' ');
    if (this.#prefix !== '') this.#parts.push(this.#prefix);
    this.#parts.push(text);
    this.#breaks = 0;
    this.#prefix = '';
    this.#needsSpace = false;
  }
}
