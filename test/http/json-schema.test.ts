import { describe, expect, test } from 'vitest';
import { type JsonSchema, plainSchema } from '../../src/http/json-schema.ts';
import { type TSchema, Type } from '../../src/std/schema.ts';

const plain = (schema: TSchema) => plainSchema(schema as JsonSchema);

describe('the plain form', () => {
  test.each([
    ['a text or null', Type.Union([Type.String(), Type.Null()]), { type: 'string', nullable: true }],
    ['a literal', Type.Literal('a'), { type: 'string', enum: ['a'] }],
    [
      'a choice of literals',
      Type.Union([Type.Literal('a'), Type.Literal('b')]),
      { type: 'string', enum: ['a', 'b'] },
    ],
    [
      'a choice of literals or null',
      Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Null()]),
      { type: 'string', nullable: true, enum: ['a', 'b', null] },
    ],
    [
      'a text or a number or null',
      Type.Union([Type.String(), Type.Integer(), Type.Null()]),
      { anyOf: [{ type: 'string', nullable: true }, { type: 'integer' }] },
    ],
    ['anything or null', Type.Union([Type.Unknown(), Type.Null()]), {}],
    [
      'a record',
      Type.Record(Type.String(), Type.Union([Type.Integer(), Type.Null()])),
      { type: 'object', additionalProperties: { type: 'integer', nullable: true } },
    ],
    [
      'an object with what it nests',
      Type.Object(
        { a: Type.Optional(Type.Array(Type.Literal(1))), b: Type.Boolean() },
        { additionalProperties: false },
      ),
      {
        type: 'object',
        required: ['b'],
        properties: { a: { type: 'array', items: { type: 'number', enum: [1] } }, b: { type: 'boolean' } },
        additionalProperties: false,
      },
    ],
    [
      'a description and a default',
      Type.Union([Type.String(), Type.Null()], { description: 'why', default: null }),
      { type: 'string', nullable: true, description: 'why', default: null },
    ],
  ] as const)('of %s', (_name, schema, expected) => {
    expect(plain(schema)).toEqual(expected);
  });

  test.each([
    ['a tuple', Type.Object({ pair: Type.Tuple([Type.String(), Type.String()]) })],
    ['a record with keys of a pattern', Type.Record(Type.Integer(), Type.String())],
    ['a reference', Type.Ref('Other')],
    ['nothing but null', Type.Union([Type.Null()])],
  ])('of %s is refused at boot', (_name, schema) => {
    expect(() => plain(schema)).toThrow();
  });
});
