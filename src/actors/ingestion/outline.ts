// Outline: the lines of a text, and how good a place each is to begin a chunk at. It is drawn as far as somebody looks, and what
// lies behind is forgotten: a large file has millions of lines.
// O1 A comment or decorator in front of a definition belongs to it: the definition begins there.
// O2 A fence of markdown and a quoted field of CSV are not broken at what looks like a heading or a record in them.

import type { DocumentKind } from './kinds.ts';

/** From "only if need be" to "a new subject". */
export const RANK = { inside: 0, line: 1, item: 2, paragraph: 3, part: 4, heading: 5 } as const;

/** Enough of a line to see what it is; the rest of a minified file is not looked at. */
const LOOK_CHARS = 160;
/** Lines that are kept behind the reader before they are forgotten together. */
const KEPT_MAX = 8_192;

interface Line {
  readonly text: string;
  readonly isBlank: boolean;
  readonly followsBlank: boolean;
}
/** Called for each line in order; may remember what it has seen. */
type Ranker = (line: Line) => number;

export interface OutlinedLine {
  /** Offset at which it begins. */
  readonly start: number;
  /** From 1. */
  readonly number: number;
  rank: number;
}

export class Outline {
  readonly #text: string;
  readonly #kind: DocumentKind;
  readonly #rank: Ranker;
  readonly #pageStarts: ReadonlySet<number>;
  #lines: OutlinedLine[] = [];
  #drawnTo = 0;
  #drawnLines = 0;
  #followsBlank = true;
  /** Where the comments begin that the next line may belong to. */
  #preamble: OutlinedLine[] = [];
  /** Index of the line that was looked for last. */
  #at = 0;

  /** `pageStarts` are offsets of lines. */
  constructor(text: string, kind: DocumentKind, pageStarts: readonly number[] = []) {
    this.#text = text;
    this.#kind = kind;
    this.#rank = RANKERS[kind]();
    this.#pageStarts = new Set(pageStarts);
  }

  /** The lines that begin in the stretch, the first one that may begin before it included. Asked for in ascending order. */
  between(from: number, to: number): readonly OutlinedLine[] {
    while (this.#drawnTo < this.#text.length && this.#drawnTo <= to) this.#draw();
    this.#seek(from);
    let end = this.#at;
    while ((this.#lines[end]?.start ?? Number.POSITIVE_INFINITY) <= to) end += 1;
    const found = this.#lines.slice(this.#at, end);
    if (this.#at > KEPT_MAX) {
      this.#lines = this.#lines.slice(this.#at);
      this.#at = 0;
    }
    return found;
  }

  /** To the last line that begins at the offset, or before it. */
  #seek(offset: number): void {
    while ((this.#lines[this.#at + 1]?.start ?? Number.POSITIVE_INFINITY) <= offset) this.#at += 1;
    while (this.#at > 0 && (this.#lines[this.#at]?.start ?? 0) > offset) this.#at -= 1;
  }

  #draw(): void {
    const start = this.#drawnTo;
    const newline = this.#text.indexOf('\n', start);
    const end = newline === -1 ? this.#text.length : newline;
    const looked = this.#text.slice(start, this.#kind === 'csv' ? end : Math.min(end, start + LOOK_CHARS));
    const isBlank = end - start <= LOOK_CHARS && looked.trim() === '';
    const own = this.#rank({ text: looked, isBlank, followsBlank: this.#followsBlank });
    this.#drawnLines += 1;
    const rank = this.#pageStarts.has(start) ? RANK.heading : own;
    const line = { start, number: this.#drawnLines, rank };
    this.#lines.push(line);
    if (this.#kind === 'code') this.#attach(line, looked);
    this.#followsBlank = isBlank;
    this.#drawnTo = end + 1;
  }

  /** O1. */
  #attach(line: OutlinedLine, text: string): void {
    if (PREAMBLE.test(text)) {
      this.#preamble.push(line);
      return;
    }
    const [first, ...rest] = this.#preamble;
    this.#preamble = [];
    if (first === undefined || line.rank < RANK.part) return;
    first.rank = line.rank;
    for (const one of [...rest, line]) one.rank = RANK.inside;
  }
}

const PREAMBLE = /^\s*(?:\/\/|\/\*|\*|#(?!include|define|if|else|endif)|--\s|@\w|"""|''')/;

const RANKERS: Readonly<Record<DocumentKind, () => Ranker>> = {
  text: proseRanker,
  html: markdownRanker,
  pdf: proseRanker,
  markdown: markdownRanker,
  code: () => codeRank,
  json: () => jsonRank,
  csv: csvRanker,
};

function proseRanker(): Ranker {
  return ({ isBlank, followsBlank }) => (isBlank ? RANK.inside : followsBlank ? RANK.paragraph : RANK.line);
}

function markdownRanker(): Ranker {
  let fence: string | null = null;
  return ({ text, isBlank, followsBlank }) => {
    const mark = /^ {0,3}(```|~~~)/.exec(text)?.[1];
    if (fence !== null) {
      if (mark === fence) fence = null;
      return RANK.inside; // O2
    }
    if (mark !== undefined) {
      fence = mark;
      return RANK.paragraph;
    }
    if (/^ {0,3}#{1,2}\s/.test(text)) return RANK.heading;
    if (/^ {0,3}#{3,6}\s/.test(text)) return RANK.part;
    if (isBlank) return RANK.inside;
    if (followsBlank) return RANK.paragraph;
    return /^\s*(?:[-*+]|\d{1,9}[.)])\s/.test(text) ? RANK.item : RANK.line;
  };
}

const MODIFIERS =
  '(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\\([a-z]{1,9}\\))?|unsafe|extern|inline|virtual|override|open|sealed|declare|const|let|var)\\s+)*';
const NAMED_DEFINITION = new RegExp(
  `^${MODIFIERS}(?:function|class|interface|type|enum|struct|trait|impl|fn|func|def|module|namespace|package|mod|macro_rules!|create|alter|drop|insert|select|with|update|delete)\\b`,
  'i',
);
const OTHER_DEFINITION =
  /^(?:(?:export\s+)?(?:const|let|var)\s+\w+[^=]*=\s*(?:async\b|function\b|\()|[A-Za-z_][\w:<>,*&\s]*\([^;]*$|[.#@:\w][^{};]*\{\s*$|\[{1,2}[\w."-]+\]{1,2}\s*$)/;

/** What begins at the margin is a definition or a section; what is named one further in is a part of it. */
function codeRank({ text, isBlank, followsBlank }: Line): number {
  if (isBlank) return RANK.inside;
  const isAtMargin = /^\S/.test(text);
  const named = NAMED_DEFINITION.test(text.trimStart());
  if (isAtMargin && (named || OTHER_DEFINITION.test(text))) return RANK.heading;
  if (named && /^(?: {1,8}|\t{1,2})\S/.test(text)) return RANK.part;
  if (followsBlank) return isAtMargin ? RANK.part : RANK.paragraph;
  return isAtMargin && !/^[)\]}]/.test(text) ? RANK.item : RANK.line;
}

/** Of indented JSON: the less a member is indented, the more begins with it. */
function jsonRank({ text, isBlank }: Line): number {
  if (isBlank) return RANK.inside;
  const depth = /^(?: |\t)*/.exec(text)?.[0].length ?? 0;
  if (/^\s*[}\]]/.test(text)) return RANK.inside;
  return depth <= 2 ? RANK.part : depth <= 4 ? RANK.paragraph : RANK.line;
}

function csvRanker(): Ranker {
  let isQuoted = false;
  return ({ text }) => {
    const rank = isQuoted ? RANK.inside : RANK.paragraph; // O2
    for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isQuoted = !isQuoted;
    return rank;
  };
}
