// JSON Schema: the one dialect that the validator, the serialiser and OpenAPI 3.0 all read the same way.
// J1 A message's schema is written down once; everything that the edge does with it starts from `plainSchema`.
// J2 `null` is `nullable`, a choice of literals is `enum`, a record is `additionalProperties`. That is valid OpenAPI 3.0,
//    and lets the serialiser generate straight code where a union would make it validate every branch.
// J3 What cannot be said in that dialect stops the service at boot, not a request later.

import { assert } from '../std/assert.ts';

export interface JsonSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
  readonly enum?: readonly unknown[];
  readonly nullable?: boolean;
  readonly description?: string;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>;
  readonly const?: unknown;
  readonly [keyword: string]: unknown;
}

/** The pattern under which TypeBox files the values of a record with free keys. */
const ANY_KEY = '^.*$';
const UNSUPPORTED_KEYWORDS = ['$ref', '$defs', 'prefixItems', 'additionalItems', 'not', 'if'];

export function plainSchema(schema: JsonSchema): JsonSchema {
  for (const keyword of UNSUPPORTED_KEYWORDS) {
    assert(!(keyword in schema), `the edge cannot publish a schema with "${keyword}"`); // J3
  }
  if (schema.anyOf !== undefined) return plainUnion(schema, schema.anyOf);
  if ('const' in schema) return plainLiteral(schema);
  const { patternProperties, properties, items, additionalProperties, allOf, ...rest } = schema;
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: plainMembers(properties) }),
    ...(items === undefined ? {} : { items: plainSchema(items) }),
    ...(allOf === undefined ? {} : { allOf: (allOf as JsonSchema[]).map(plainSchema) }),
    ...(additionalProperties === undefined
      ? {}
      : {
          additionalProperties: isSchema(additionalProperties)
            ? plainSchema(additionalProperties)
            : additionalProperties,
        }),
    ...(patternProperties === undefined ? {} : { additionalProperties: valueOfRecord(patternProperties) }),
  };
}

function plainMembers(properties: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, plainSchema(member)]));
}

function plainLiteral(schema: JsonSchema): JsonSchema {
  const { const: literal, ...rest } = schema;
  return { ...rest, enum: [literal] };
}

function valueOfRecord(patterns: Readonly<Record<string, JsonSchema>>): JsonSchema {
  const value = patterns[ANY_KEY];
  assert(
    value !== undefined && Object.keys(patterns).length === 1,
    'a record in a published message has free text keys',
  );
  return plainSchema(value);
}

function plainUnion(schema: JsonSchema, branches: readonly JsonSchema[]): JsonSchema {
  const { anyOf: _branches, ...rest } = schema;
  const nullable = branches.some((branch) => branch.type === 'null');
  const [first, ...others] = branches.filter((branch) => branch.type !== 'null').map(plainSchema);
  assert(first !== undefined, 'a union has a branch that is not null');
  if (others.length === 0) return { ...rest, ...withNull(first, nullable) };
  const choices = [first, ...others];
  if (choices.every((branch) => branch.enum !== undefined && branch.type === first.type)) {
    return { ...rest, ...withNull({ ...first, enum: choices.flatMap((branch) => branch.enum) }, nullable) };
  }
  return { ...rest, anyOf: [withNull(first, nullable), ...others] };
}

/** A schema without a type admits null already, and `nullable` without a type means nothing. */
function withNull(schema: JsonSchema, nullable: boolean): JsonSchema {
  if (!nullable || schema.type === undefined) return schema;
  return {
    ...schema,
    nullable: true,
    ...(schema.enum === undefined ? {} : { enum: [...schema.enum, null] }),
  };
}

function isSchema(value: JsonSchema | boolean): value is JsonSchema {
  return typeof value === 'object';
}
