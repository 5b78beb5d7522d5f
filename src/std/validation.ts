// Validation: values from outside are checked against a schema here, and trusted from then on.

import { Check, Clone, Default, Errors } from 'typebox/value';
import type { Static, TSchema } from './schema.ts';

export interface Problem {
  /** JSON pointer into the value; empty for the value itself. */
  readonly at: string;
  readonly message: string;
}

export type Validated<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function fits<Schema extends TSchema>(schema: Schema, value: unknown): value is Static<Schema> {
  return Check(schema, value);
}

/** Fills in the schema's defaults, in a copy, and checks the result. Nothing is converted: "3" is no number. */
export function validate<Schema extends TSchema>(schema: Schema, value: unknown): Validated<Static<Schema>> {
  const filled = Default(schema, Clone(value));
  if (fits(schema, filled)) return { ok: true, value: filled };
  const problems = Errors(schema, filled).map(({ instancePath, message }) => ({ at: instancePath, message }));
  return { ok: false, problems };
}
