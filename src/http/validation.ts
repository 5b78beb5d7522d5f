// Validation: the parts of a request against the schema of the message that they become.
// V1 Bodies are taken at their word: JSON has types, so `"5"` is not 5. Query strings and URL parameters have only text,
//    which is read as the type that the schema asks for, where that loses nothing.
// V2 A refusal is one sentence that names the member and what is wrong with it.
// V3 Members that the schema does not name are not an error.

import { Ajv, type ErrorObject } from 'ajv';
import { edgeFaults } from './errors.ts';
import type { JsonSchema } from './json-schema.ts';

export interface Verdict {
  readonly value?: unknown;
  readonly error?: Error;
}

/** One ajv for one edge: Fastify asks it to compile each part of each route at boot. */
export function createValidatorCompiler(): (part: {
  readonly schema: JsonSchema;
  readonly httpPart?: string;
}) => (data: unknown) => Verdict {
  // The first mistake is enough: collecting them all lets a hostile body make us do work for each of them.
  const ajv = new Ajv({
    allErrors: false,
    useDefaults: true,
    coerceTypes: false,
    strict: true,
    strictTypes: false,
    // Files in a form are described as such; what they hold is looked at elsewhere.
    formats: { binary: true },
  });
  return ({ schema, httpPart }) => {
    const validate = ajv.compile(schema);
    const texts = httpPart === 'body' ? [] : Object.entries(schema.properties ?? {});
    const where = httpPart === 'body' ? 'The request body' : 'The query';
    return (data) => {
      // No body at all is an empty message: whether that will do is for the schema to say.
      const value = data ?? {};
      for (const [name, member] of texts) readMember(value as Record<string, unknown>, name, member);
      if (validate(value)) return { value };
      return { error: edgeFaults.request_invalid(sentence(validate.errors?.[0], where)) };
    };
  };
}

// ---- V1: text to type.

function readMember(texts: Record<string, unknown>, name: string, schema: JsonSchema): void {
  const given = texts[name];
  if (given !== undefined)
    texts[name] = schema.type === 'array' ? readList(schema, given) : readText(schema, given);
}

/** `?tag=a&tag=b` is a list; so is `?tag=a` where a list is asked for. */
function readList(schema: JsonSchema, given: unknown): unknown[] {
  const items = Array.isArray(given) ? given : [given];
  return items.map((item) => (schema.items === undefined ? item : readText(schema.items, item)));
}

const BOOLEANS: Readonly<Record<string, boolean>> = { true: true, '1': true, false: false, '0': false };

/** What cannot be read stays text, and the validator says so. */
function readText(schema: JsonSchema, given: unknown): unknown {
  if (typeof given !== 'string' || given.trim() === '') return given;
  switch (schema.type) {
    case 'boolean':
      return BOOLEANS[given.toLowerCase()] ?? given;
    case 'integer':
    case 'number': {
      const number = Number(given);
      return Number.isFinite(number) ? number : given;
    }
    default:
      return given;
  }
}

// ---- V2: ajv's findings as sentences.

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
};

function sentence(error: ErrorObject | undefined, where: string): string {
  if (error === undefined) return `${where} is invalid`;
  const path = memberPath(error.instancePath);
  const params = error.params as Record<string, unknown>;
  const member = path === '' ? where : path;
  switch (error.keyword) {
    case 'required':
      return `${path === '' ? '' : `${path}.`}${params.missingProperty} required`;
    case 'type':
      return `${member} must be ${TYPE_NAMES[String(params.type)] ?? String(params.type)}`;
    case 'enum':
      return `${member} must be one of: ${(params.allowedValues as unknown[]).map(String).join(', ')}`;
    case 'minLength':
      return params.limit === 1
        ? `${member} must not be empty`
        : `${member} must have at least ${params.limit} characters`;
    case 'maxLength':
      return `${member} must have at most ${params.limit} characters`;
    case 'minimum':
    case 'exclusiveMinimum':
    case 'maximum':
    case 'exclusiveMaximum':
      return `${member} must be ${params.comparison} ${params.limit}`;
    case 'minItems':
      return `${member} must have at least ${params.limit} items`;
    case 'maxItems':
      return `${member} must have at most ${params.limit} items`;
    case 'anyOf':
      return `${member} has none of the forms that it may have`;
    default:
      return `${member} ${error.message ?? 'is invalid'}`;
  }
}

/** `/entries/0/text` as a reader of JSON writes it: `entries[0].text`. */
function memberPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((step, depth) => (/^\d+$/.test(step) ? `[${step}]` : depth === 0 ? step : `.${step}`))
    .join('');
}
