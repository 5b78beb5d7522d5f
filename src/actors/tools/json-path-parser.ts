// JSON path parser: the subset of RFC 9535 that a model needs, as data. Pure; nothing in a path is ever executed.
// `$`, `.name`, `['name']`, `[0]`, `[-1]`, `[1:5:2]`, `.*`, `[*]`, `..name`, unions `[0,2]`, and filters of one
// comparison `[?(@.price < 10)]` or of existence `[?@.isbn]`.

import { declareFaults } from '../../std/errors.ts';

export const jsonPathFaults = declareFaults({
  json_path_invalid: 'invalid',
  /** The path visits more of the document than is allowed. */
  json_path_too_wide: 'unprocessable',
});

export type Step = string | number;
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';
export type Scalar = string | number | boolean | null;

export type Selector =
  | { readonly kind: 'step'; readonly step: Step }
  | { readonly kind: 'wildcard' }
  | {
      readonly kind: 'slice';
      readonly start: number | null;
      readonly end: number | null;
      readonly step: number;
    }
  | {
      readonly kind: 'filter';
      readonly path: readonly Step[];
      /** Null asks only whether the path is there. */
      readonly test: { readonly comparison: Comparison; readonly literal: Scalar } | null;
    };

export interface Segment {
  /** `..`: applies to the nodes and all their descendants. */
  readonly descends: boolean;
  readonly selectors: readonly Selector[];
}

const NAME = /[\p{L}\p{N}_-]+/uy;
const INTEGER = /-?\d{1,15}/y;
const NUMBER = /-?\d{1,15}(\.\d{1,15})?([eE][+-]?\d{1,3})?/y;
const COMPARISON = /==|!=|<=|>=|<|>/y;
const BLANKS = /\s*/y;

export function parseJsonPath(text: string): readonly Segment[] {
  const source = text.trim();
  let at = 0;

  const fail = (wanted: string): never => {
    const found = at < source.length ? JSON.stringify(source.slice(at, at + 12)) : 'the end';
    throw jsonPathFaults.json_path_invalid(
      `Bad JSON path: ${wanted} expected at position ${at}, found ${found}`,
    );
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const accept = (literal: string): boolean => {
    if (!source.startsWith(literal, at)) return false;
    at += literal.length;
    return true;
  };
  const expect = (literal: string): void => {
    if (!accept(literal)) fail(JSON.stringify(literal));
  };
  const skipBlanks = (): void => {
    take(BLANKS);
  };

  const readQuoted = (): string | undefined => {
    const quote = source[at];
    if (quote !== "'" && quote !== '"') return undefined;
    let value = '';
    for (at += 1; source[at] !== quote; at += 1) {
      if (source[at] === '\\') at += 1;
      const character = source[at];
      if (character === undefined) return fail('a closing quote');
      value += character;
    }
    at += 1;
    return value;
  };
  const readInteger = (): number | null => {
    const digits = take(INTEGER);
    return digits === undefined ? null : Number(digits);
  };

  const readLiteral = (): Scalar => {
    const quoted = readQuoted();
    if (quoted !== undefined) return quoted;
    const digits = take(NUMBER);
    if (digits !== undefined) return Number(digits);
    if (accept('true')) return true;
    if (accept('false')) return false;
    if (accept('null')) return null;
    return fail('a text, a number, true, false or null');
  };

  const readFilter = (): Selector => {
    const parenthesised = accept('(');
    skipBlanks();
    expect('@');
    const path: Step[] = [];
    for (;;) {
      if (accept('.')) path.push(take(NAME) ?? fail('a name'));
      else if (accept('[')) {
        path.push(readQuoted() ?? readInteger() ?? fail('a quoted name or an index'));
        expect(']');
      } else break;
    }
    skipBlanks();
    const comparison = take(COMPARISON) as Comparison | undefined;
    skipBlanks();
    const test = comparison === undefined ? null : { comparison, literal: readLiteral() };
    skipBlanks();
    if (parenthesised) expect(')');
    return { kind: 'filter', path, test };
  };

  const readBracketed = (): Selector => {
    skipBlanks();
    if (accept('*')) return { kind: 'wildcard' };
    if (accept('?')) return readFilter();
    const name = readQuoted();
    if (name !== undefined) return { kind: 'step', step: name };
    const start = readInteger();
    if (!accept(':')) return { kind: 'step', step: start ?? fail('a quoted name, an index, * or ?') };
    const end = readInteger();
    const step = accept(':') ? (readInteger() ?? 1) : 1;
    if (step < 1) fail('a step of 1 or more');
    return { kind: 'slice', start, end, step };
  };

  const readBrackets = (): readonly Selector[] => {
    const selectors: Selector[] = [];
    do {
      selectors.push(readBracketed());
      skipBlanks();
    } while (accept(','));
    expect(']');
    return selectors;
  };

  const readDotted = (): readonly Selector[] =>
    accept('*') ? [{ kind: 'wildcard' }] : [{ kind: 'step', step: take(NAME) ?? fail('a name or *') }];

  expect('$');
  const segments: Segment[] = [];
  while (at < source.length) {
    const descends = accept('..');
    if (accept('[')) segments.push({ descends, selectors: readBrackets() });
    else if (descends || accept('.')) segments.push({ descends, selectors: readDotted() });
    else fail('. or [');
  }
  return segments;
}
