// Exhibit elements: what a model wrote, turned into what the clients render, or the reason why not. Pure.
// X1 Only what cannot be meant otherwise is repaired: blanks, duplicates, cells that are numbers, rows of the wrong
//    length, a code fence around a diagram. All else is a problem that the model is told.
// X2 An address that a client will open is http(s) or a path of this service.

import { errorText } from '../../std/errors.ts';
import { fits } from '../../std/validation.ts';
import { ExhibitElement } from './protocol.ts';

export type Given = Readonly<Record<string, unknown>>;

export type ReadElement =
  | { readonly ok: true; readonly element: ExhibitElement }
  | { readonly ok: false; readonly problem: string };

const OPTIONS_MAX = 10;
const COLUMNS_MAX = 12;
const ROWS_MAX = 500;
const SOURCES_MAX = 50;

const DIAGRAMS: ReadonlySet<string> = new Set([
  'graph',
  'flowchart',
  'sequenceDiagram',
  'classDiagram',
  'stateDiagram',
  'stateDiagram-v2',
  'erDiagram',
  'gantt',
  'pie',
  'mindmap',
  'journey',
  'gitGraph',
  'timeline',
  'quadrantChart',
  'requirementDiagram',
  'C4Context',
  'sankey',
  'xychart-beta',
  'block-beta',
]);

/** Thrown and caught within this file: ends the reading of one element. */
class Malformed extends Error {}

const READERS: Readonly<Record<string, (given: Given) => object>> = {
  mermaid: readDiagram,
  choice: readChoice,
  table: readTable,
  citation: readCitation,
  image: (given) => ({ url: mediaUrl(given), alt: optional(given, 'alt') }),
  audio: (given) => ({ url: mediaUrl(given), caption: optional(given, 'caption') }),
  video: (given) => ({ url: mediaUrl(given), caption: optional(given, 'caption') }),
  text: (given) => ({ content: required(given, 'content') }),
};

export const ELEMENT_TYPES: readonly string[] = Object.keys(READERS);

export function readElement(given: Given): ReadElement {
  const type = typeof given.type === 'string' ? given.type.trim() : '';
  const reader = Object.hasOwn(READERS, type) ? READERS[type] : undefined;
  if (reader === undefined) return { ok: false, problem: `type must be one of ${ELEMENT_TYPES.join(', ')}` };
  try {
    const element: unknown = { type, ...reader(given), title: optional(given, 'title') };
    return fits(ExhibitElement, element)
      ? { ok: true, element }
      : { ok: false, problem: `is not a valid ${type} element` };
  } catch (error) {
    if (error instanceof Malformed) return { ok: false, problem: errorText(error) };
    throw error;
  }
}

function readDiagram(given: Given): object {
  const content = withoutFence(required(given, 'content'));
  const firstWord = /^[^\s:;]*/.exec(content)?.[0] ?? '';
  if (!DIAGRAMS.has(firstWord)) {
    throw new Malformed(`content must begin with a diagram type, one of ${[...DIAGRAMS].join(', ')}`);
  }
  return { content };
}

function withoutFence(content: string): string {
  const lines = content.split('\n');
  if (!lines[0]?.startsWith('```')) return content;
  const last = lines.at(-1)?.trim() === '```' ? -1 : undefined;
  return lines.slice(1, last).join('\n').trim();
}

function readChoice(given: Given): object {
  const options = [
    ...new Set(
      list(given, 'options')
        .map(cellText)
        .map((option) => option.trim()),
    ),
  ];
  const named = options.filter((option) => option !== '');
  if (named.length === 0) throw new Malformed('options must hold at least one text');
  if (named.length > OPTIONS_MAX) throw new Malformed(`options may hold at most ${OPTIONS_MAX} texts`);
  return { prompt: optional(given, 'prompt'), options: named };
}

function readTable(given: Given): object {
  const columns = list(given, 'columns').map((column) => cellText(column).trim());
  if (columns.length === 0) throw new Malformed('columns must hold at least one name');
  if (columns.length > COLUMNS_MAX) throw new Malformed(`columns may hold at most ${COLUMNS_MAX} names`);
  const rows = list(given, 'rows');
  if (rows.length > ROWS_MAX) throw new Malformed(`rows may hold at most ${ROWS_MAX} rows`);
  return {
    columns,
    rows: rows.map((row, at) => {
      if (!Array.isArray(row)) throw new Malformed(`rows[${at}] must be a list of cells`);
      return columns.map((_, column) => cellText(row[column]));
    }),
    caption: optional(given, 'caption'),
  };
}

function readCitation(given: Given): object {
  const sources = list(given, 'sources');
  if (sources.length === 0) throw new Malformed('sources must hold at least one source');
  if (sources.length > SOURCES_MAX) throw new Malformed(`sources may hold at most ${SOURCES_MAX} sources`);
  return { sources: sources.map(readSource) };
}

const SOURCE_TYPES: ReadonlySet<unknown> = new Set(['web', 'memory', 'doc']);

function readSource(given: unknown, at: number): object {
  if (typeof given !== 'object' || given === null) throw new Malformed(`sources[${at}] must be an object`);
  const source = given as Given;
  const label = optional(source, 'label');
  if (label === null) throw new Malformed(`sources[${at}].label must not be blank`);
  const url = optional(source, 'url');
  if (url !== null && !isOpenable(url))
    throw new Malformed(`sources[${at}].url must be an http or https address`);
  return {
    label,
    url,
    quote: optional(source, 'quote'),
    kind: source.kind === 'passive' ? 'passive' : 'active',
    source_type: SOURCE_TYPES.has(source.source_type) ? source.source_type : null,
  };
}

/** X2: `javascript:` and its like never reach a client, nor does an address that only looks like a path. */
function isOpenable(url: string): boolean {
  return /^https?:\/\/[^\s]+$/i.test(url) || /^\/(?![/\\])[^\s]*$/.test(url);
}

function mediaUrl(given: Given): string {
  const url = required(given, 'url');
  if (!/^\/api\/workspaces\/[\w-]+\/documents\/[\w-]+\/raw$/.test(url)) {
    throw new Malformed('url must be /api/workspaces/{workspace}/documents/{document}/raw');
  }
  return url;
}

function required(given: Given, member: string): string {
  const text = optional(given, member);
  if (text === null) throw new Malformed(`${member} must be a text that is not blank`);
  return text;
}

function optional(given: Given, member: string): string | null {
  const value = given[member];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new Malformed(`${member} must be a text`);
  const trimmed = value.trim();
  return trimmed === '' ? null : trimmed;
}

function list(given: Given, member: string): readonly unknown[] {
  const value = given[member];
  if (!Array.isArray(value)) throw new Malformed(`${member} must be a list`);
  return value;
}

function cellText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
