// JsonText: JSON as text with lines to cite. What is written on few lines is laid out; what is laid out, or is no JSON after
// all, stays as it is.
// J1 It is laid out while it is read, token by token. `JSON.parse` makes sixteen times its size of a hostile file, in one step in
//    which the heap limit of a thread ends the whole process instead of the thread.

import { TEXT_CHARS_MAX } from './limits.ts';

/** Longer than anybody writes by hand. */
const LINE_CHARS_TYPICAL_MAX = 400;
/** Deeper, each line is mostly its indentation. */
const DEPTH_MAX = 100;
/** Tokens that are put together at a time: each weighs more than its characters. */
const TOKENS_JOINED = 8_192;
/** Of a string whose escapes are resolved: in a larger one there is no text. */
const RESOLVED_CHARS_MAX = 1_000_000;

const CLOSING: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
const LINES = Array.from({ length: DEPTH_MAX + 1 }, (_, depth) => `\n${'  '.repeat(depth)}`);

export function jsonText(text: string): string {
  const lines = text.split('\n', 1_000).length;
  if (text.length / lines <= LINE_CHARS_TYPICAL_MAX) return text;
  return new Layout(text).written() ?? text;
}

class Layout {
  readonly #text: string;
  readonly #written: string[] = [];
  #tokens: string[] = [];
  #length = 0;
  #at = 0;
  /** What closes the brackets that are open. */
  readonly #open: string[] = [];

  constructor(text: string) {
    this.#text = text;
  }

  /** J1. Null when it is no JSON, or would be too long. */
  written(): string | null {
    for (let token = this.#next(); token !== null; token = this.#next()) {
      if (!this.#write(token)) return null;
      if (this.#tokens.length >= TOKENS_JOINED) this.#join();
      if (this.#length > TEXT_CHARS_MAX) return null;
    }
    this.#join();
    return this.#open.length === 0 ? this.#written.join('') : null;
  }

  /** False when it cannot stand there. */
  #write(token: string): boolean {
    const closing = CLOSING[token];
    if (closing !== undefined) {
      this.#put(token);
      if (this.#isNext(closing)) this.#put(closing);
      else {
        this.#open.push(closing);
        if (this.#open.length > DEPTH_MAX) return false;
        this.#breakLine();
      }
      return true;
    }
    if (token === '}' || token === ']') {
      if (this.#open.pop() !== token) return false;
      this.#breakLine();
    }
    this.#put(token === ':' ? ': ' : token);
    if (token === ',') this.#breakLine();
    return token !== '"';
  }

  #put(token: string): void {
    this.#tokens.push(token);
    this.#length += token.length;
  }

  #breakLine(): void {
    this.#put(LINES[this.#open.length] ?? '\n');
  }

  #join(): void {
    this.#written.push(this.#tokens.join(''));
    this.#tokens = [];
  }

  /** Takes the bracket that closes at once. */
  #isNext(closing: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== closing) return false;
    this.#at += 1;
    return true;
  }

  /** A mark, a string, or what else stands between them; a lone `"` is a string without an end. Null behind the last. */
  #next(): string | null {
    this.#skipSpace();
    const start = this.#at;
    if (start >= this.#text.length) return null;
    const first = this.#text[start] ?? '';
    if (first === '"') return this.#string(start);
    this.#at += 1;
    if (isMark(this.#text.charCodeAt(start))) return first;
    while (this.#at < this.#text.length && !isEndOfLiteral(this.#text.charCodeAt(this.#at))) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #string(start: number): string {
    let hasEscapes = false;
    for (let at = start + 1; at < this.#text.length; at += 1) {
      const code = this.#text.charCodeAt(at);
      if (code === BACKSLASH) {
        hasEscapes = true;
        at += 1;
      } else if (code === QUOTE) {
        this.#at = at + 1;
        const token = this.#text.slice(start, at + 1);
        return hasEscapes ? resolved(token) : token;
      }
    }
    return '"';
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.#at))) this.#at += 1;
  }
}

/** Letters that are written as their numbers are to be found as letters. */
function resolved(token: string): string {
  if (token.length > RESOLVED_CHARS_MAX) return token;
  try {
    return JSON.stringify(JSON.parse(token));
  } catch {
    return token;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MARKS: ReadonlySet<number> = new Set(Array.from('{}[],:', (mark) => mark.charCodeAt(0)));

function isMark(code: number): boolean {
  return MARKS.has(code);
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xfeff;
}

function isEndOfLiteral(code: number): boolean {
  return code === QUOTE || isMark(code) || isSpace(code);
}
