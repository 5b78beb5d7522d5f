// Chunks: a text in stretches that are small enough to be compared and cited (see P3 of parser-protocol.ts). Pure.
// K1 A chunk ends where the best boundary of its second half is; in a line that is longer than that, at a space.
// K2 The next chunk begins at a line, else a word, within the overlap; it always begins behind the one before it.
// K3 A chunk holds something to read, and no half of a character.

import { type Outline, type OutlinedLine, RANK } from './outline.ts';
import { CHUNK_CHARS_MAX, CHUNK_OVERLAP_CHARS_MAX, type Chunk } from './parser-protocol.ts';

/** A chunk that is shorter says little by itself. */
const CHUNK_CHARS_MIN = 400;

export function* chunksOf(
  text: string,
  outline: Outline,
  pageStarts: readonly number[] = [],
): Generator<Chunk> {
  let page = 0;
  for (let start = 0; start < text.length; ) {
    const lines = outline.between(start, start + CHUNK_CHARS_MAX);
    const end = endOf(text, lines, start);
    const trimmed = trimmedStretch(text, start, end);
    if (trimmed !== null) {
      page = lastAtOrBefore(pageStarts, trimmed.start, page);
      yield {
        ...trimmed,
        text: text.slice(trimmed.start, trimmed.end),
        line: numberAt(lines, trimmed.start),
        lineEnd: numberAt(lines, trimmed.end - 1),
        page: pageStarts.length === 0 ? null : page + 1,
      };
    }
    start = end >= text.length ? text.length : nextStart(text, lines, start, end);
  }
}

/** K1. */
function endOf(text: string, lines: readonly OutlinedLine[], start: number): number {
  if (text.length - start <= CHUNK_CHARS_MAX) return text.length;
  const earliest = start + CHUNK_CHARS_MIN;
  const latest = start + CHUNK_CHARS_MAX;
  let best = -1;
  let bestRank: number = RANK.line;
  for (const line of lines) {
    if (line.start < earliest || line.rank < bestRank) continue;
    best = line.start;
    bestRank = line.rank;
  }
  // A sentence inside a long paragraph is as good an end as one of its lines.
  if (bestRank === RANK.line)
    best = Math.max(best, lastMatchEnd(text, earliest, latest, /[.!?]["')\]]?\s+/g));
  if (best !== -1) return best;
  const space = lastMatchEnd(text, earliest, latest, /\s+/g);
  if (space !== -1) return space;
  return isInsideCharacter(text, latest) ? latest - 1 : latest;
}

/** K2. */
function nextStart(text: string, lines: readonly OutlinedLine[], start: number, end: number): number {
  const earliest = Math.max(start + 1, end - CHUNK_OVERLAP_CHARS_MAX);
  const line = lines.find((one) => one.start >= earliest);
  if (line !== undefined && line.start < end) return line.start;
  const space = /\s+/.exec(text.slice(earliest, end));
  const behind = space === null ? earliest : earliest + space.index + space[0].length;
  if (behind >= end) return end;
  return isInsideCharacter(text, behind) ? behind + 1 : behind;
}

/** K3. */
function trimmedStretch(text: string, start: number, end: number): { start: number; end: number } | null {
  let from = start;
  let to = end;
  while (from < to && isSpace(text.charCodeAt(from))) from += 1;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to -= 1;
  return from < to ? { start: from, end: to } : null;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0 || code === 0xfeff;
}

/** Where the last match in the stretch ends; -1 without one. */
function lastMatchEnd(text: string, from: number, to: number, pattern: RegExp): number {
  const stretch = text.slice(from, to);
  let end = -1;
  for (const match of stretch.matchAll(pattern)) end = from + match.index + match[0].length;
  return end;
}

function isInsideCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff;
}

function numberAt(lines: readonly OutlinedLine[], offset: number): number {
  return lines.findLast(({ start }) => start <= offset)?.number ?? 1;
}

/** Index of the last of ascending offsets that is not beyond; looked for from `from` on. */
function lastAtOrBefore(offsets: readonly number[], offset: number, from: number): number {
  let at = from;
  while (at + 1 < offsets.length && (offsets[at + 1] ?? Number.POSITIVE_INFINITY) <= offset) at += 1;
  return at;
}
