// Validation: values from outside are checked against a schema here, and trusted from then on.

import { Check, Clone, Convert, Default, Errors } from 'typebox/value';
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
  return fits(schema, filled)
    ? { ok: true, value: filled }
    : { ok: false, problems: problemsOf(schema, filled) };
}

/** As `validate`, but what does not fit is converted first where that loses nothing: "3" is 3, "true" is true. */
export function validateLeniently<Schema extends TSchema>(
  schema: Schema,
  value: unknown,
): Validated<Static<Schema>> {
  const strictly = validate(schema, value);
  return strictly.ok ? strictly : validate(schema, Convert(schema, Clone(value)));
}

function problemsOf(schema: TSchema, value: unknown): readonly Problem[] {
  return Errors(schema, value).map((error) => ({
    at: error.instancePath,
    message:
      error.keyword === 'enum'
        ? `must be one of ${error.params.allowedValues.map(String).join(', ')}`
        : error.message,
  }));
}
