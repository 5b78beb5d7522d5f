// JSON path: what a parsed path selects in a document. Pure.
// J1 Work is counted in visits of nodes, selected or not, and ends at VISITS_MAX: `$..*..*` on a large document is refused, not computed.
// J2 Own members only. Nothing here recurses, so that a deep document is no harder than a wide one.

import { unreachable } from '../../std/assert.ts';
import {
  type Comparison,
  jsonPathFaults,
  parseJsonPath,
  type Scalar,
  type Segment,
  type Selector,
  type Step,
} from './json-path-parser.ts';

/** Between one and two tenths of a second of work; enough for `$..name` on any output that is kept. */
const VISITS_MAX = 2_000_000;

/** @throws {Fault} json_path_invalid, json_path_too_wide. */
export function selectByPath(document: unknown, path: string): readonly unknown[] {
  const budget = new VisitBudget();
  let nodes: readonly unknown[] = [document];
  for (const segment of parseJsonPath(path)) nodes = applySegment(nodes, segment, budget);
  return nodes;
}

class VisitBudget {
  #left = VISITS_MAX;

  spend(): void {
    this.#left -= 1;
    if (this.#left < 0) {
      throw jsonPathFaults.json_path_too_wide(
        'The path selects too much of this document: make it more specific',
      );
    }
  }
}

function applySegment(nodes: readonly unknown[], segment: Segment, budget: VisitBudget): readonly unknown[] {
  const selected: unknown[] = [];
  for (const start of nodes) {
    const from = segment.descends ? selfAndDescendants(start, budget) : [start];
    for (const node of from) {
      for (const selector of segment.selectors) {
        for (const found of select(node, selector, budget)) selected.push(found);
      }
    }
  }
  return selected;
}

/** In document order. */
function* selfAndDescendants(start: unknown, budget: VisitBudget): Generator<unknown> {
  const pending: unknown[] = [start];
  while (pending.length > 0) {
    const node = pending.pop();
    budget.spend();
    yield node;
    const children = childrenOf(node);
    for (let at = children.length - 1; at >= 0; at -= 1) pending.push(children[at]);
  }
}

function childrenOf(node: unknown): readonly unknown[] {
  if (Array.isArray(node)) return node;
  return typeof node === 'object' && node !== null ? Object.values(node) : [];
}

function* select(node: unknown, selector: Selector, budget: VisitBudget): Generator<unknown> {
  switch (selector.kind) {
    case 'step': {
      budget.spend();
      const found = childAt(node, selector.step);
      if (found !== undefined) yield found;
      return;
    }
    case 'wildcard':
      for (const child of childrenOf(node)) {
        budget.spend();
        yield child;
      }
      return;
    case 'slice':
      if (!Array.isArray(node)) return;
      for (const child of sliceOf(node, selector)) {
        budget.spend();
        yield child;
      }
      return;
    case 'filter':
      for (const child of childrenOf(node)) {
        budget.spend();
        if (passes(child, selector)) yield child;
      }
      return;
    default:
      unreachable(selector);
  }
}

/** Undefined, which JSON has no word for, means that there is no such child. */
function childAt(node: unknown, step: Step): unknown {
  if (typeof step === 'number') return Array.isArray(node) ? node.at(step) : undefined;
  if (typeof node !== 'object' || node === null || Array.isArray(node)) return undefined;
  return Object.hasOwn(node, step) ? (node as Record<string, unknown>)[step] : undefined;
}

function* sliceOf(
  list: readonly unknown[],
  { start, end, step }: Extract<Selector, { kind: 'slice' }>,
): Generator<unknown> {
  const fromEnd = (index: number): number => (index < 0 ? Math.max(list.length + index, 0) : index);
  const last = Math.min(end === null ? list.length : fromEnd(end), list.length);
  for (let at = start === null ? 0 : fromEnd(start); at < last; at += step) yield list[at];
}

function passes(node: unknown, { path, test }: Extract<Selector, { kind: 'filter' }>): boolean {
  let found = node;
  for (const step of path) found = childAt(found, step);
  if (test === null) return found !== undefined;
  return compares(found, test.comparison, test.literal);
}

function compares(found: unknown, comparison: Comparison, literal: Scalar): boolean {
  if (comparison === '==') return found === literal;
  if (comparison === '!=') return found !== literal;
  // Order is defined within numbers and within texts only.
  if (typeof found === 'number' && typeof literal === 'number') return inOrder(found, comparison, literal);
  if (typeof found === 'string' && typeof literal === 'string') return inOrder(found, comparison, literal);
  return false;
}

function inOrder<T extends string | number>(a: T, comparison: '<' | '<=' | '>' | '>=', b: T): boolean {
  switch (comparison) {
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    default:
      return unreachable(comparison);
  }
}
