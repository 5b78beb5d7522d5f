// Arguments: what a model sent for a tool, checked against the tool's schema. Pure.
// A null for an argument that may be left out counts as left out, and "3" as 3: models send both.

import type { TObject } from '../../std/schema.ts';
import { validateLeniently } from '../../std/validation.ts';

export type ReadArguments =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly problem: string };

const PROBLEMS_TOLD_MAX = 5;
const PROBLEM_LENGTH_MAX = 300;

export function readArguments(schema: TObject, given: Readonly<Record<string, unknown>>): ReadArguments {
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null));
  const read = validateLeniently(schema, present);
  if (read.ok) return { ok: true, args: read.value };
  const told = read.problems
    .slice(0, PROBLEMS_TOLD_MAX)
    .map(({ at, message }) => `${pathText(at)} ${message}`.trim().slice(0, PROBLEM_LENGTH_MAX));
  return { ok: false, problem: told.join('; ') };
}

/** `/entries/0` as `entries[0]`. */
function pathText(pointer: string): string {
  return pointer
    .replace(/^\//, '')
    .replaceAll(/\/(\d+)/g, '[$1]')
    .replaceAll('/', '.');
}
