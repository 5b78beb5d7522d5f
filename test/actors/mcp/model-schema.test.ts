import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelSchema } from '../../../src/actors/mcp/model-schema.ts';

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

test.each<[string, unknown, object]>([
  ['no schema at all', undefined, object({})],
  ['true', true, object({})],
  ['no object', { type: 'string' }, object({})],
  ['an object without a type', { properties: { a: { type: 'string' } } }, object({ a: { type: 'string' } })],
  ['an object without properties', { type: 'object', $schema: 'x', $id: 'y' }, object({})],
  [
    'required members that there are not',
    object({ a: {} }, { required: ['a', 'b'] }),
    object({ a: {} }, { required: ['a'] }),
  ],
  ['a boolean as a part', object({ a: true, b: false }), object({ a: {}, b: {} })],
  ['a list without items', object({ a: { type: 'array' } }), object({ a: { type: 'array', items: {} } })],
  [
    'a list with places',
    object({ a: { prefixItems: [{ type: 'string' }, { type: 'number' }, { type: 'string' }] } }),
    object({ a: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } } }),
  ],
  [
    'null where a member may be left out',
    object({
      a: { type: ['string', 'null'], default: null },
      b: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    }),
    object({ a: { type: 'string' }, b: { type: 'integer' } }),
  ],
  [
    'null where a member is required',
    object({ a: { type: ['string', 'null'] } }, { required: ['a'] }),
    object({ a: { anyOf: [{ type: 'string' }, { type: 'null' }] } }, { required: ['a'] }),
  ],
  [
    'a constant, and a choice of constants',
    object({ a: { const: 'x' }, b: { oneOf: [{ const: 'x' }, { const: 'y' }] } }),
    object({ a: { type: 'string', enum: ['x'] }, b: { type: 'string', enum: ['x', 'y'] } }),
  ],
  [
    'formats and patterns, which become words',
    object({ a: { type: 'string', format: 'uri', pattern: '^h', description: 'Where.', maxLength: 99_999 } }),
    object({ a: { type: 'string', description: 'Where. (maxLength 99999, format uri, pattern ^h)' } }),
  ],
  [
    'bounds that all take',
    object({ a: { type: 'integer', minimum: 1, maximum: 5 }, b: { type: 'string', minLength: 2 } }),
    object({ a: { type: 'integer', minimum: 1, maximum: 5 }, b: { type: 'string', minLength: 2 } }),
  ],
  [
    'references into definitions',
    {
      ...object({ at: { $ref: '#/$defs/Point', description: 'Here.' }, to: { $ref: '#/definitions/Point' } }),
      $defs: { Point: object({ x: { type: 'number' } }) },
      definitions: { Point: object({ y: { type: 'number' } }) },
    },
    object({
      at: { ...object({ x: { type: 'number' } }), description: 'Here.' },
      to: object({ y: { type: 'number' } }),
    }),
  ],
  [
    'references to elsewhere',
    object({ a: { $ref: 'https://x.example/schema' }, b: { $ref: '#/none' } }),
    object({ a: {}, b: {} }),
  ],
  [
    'a root that is a reference',
    { $ref: '#/definitions/A', definitions: { A: object({ a: { type: 'string' } }, { required: ['a'] }) } },
    object({ a: { type: 'string' } }, { required: ['a'] }),
  ],
  [
    'a tree that contains itself',
    object({ name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } }),
    object({ name: { type: 'string' }, children: { type: 'array', items: {} } }),
  ],
  [
    'a choice between shapes at the top',
    {
      type: 'object',
      oneOf: [
        object({ id: { type: 'string' }, kind: { type: 'string' } }, { required: ['id', 'kind'] }),
        object({ path: { type: 'string' }, kind: { type: 'string' } }, { required: ['path', 'kind'] }),
      ],
    },
    object(
      { id: { type: 'string' }, kind: { type: 'string' }, path: { type: 'string' } },
      { required: ['kind'] },
    ),
  ],
  [
    'parts that hold together',
    {
      allOf: [object({ a: { type: 'string' } }, { required: ['a'] }), object({ b: { type: 'number' } })],
      properties: { c: { type: 'boolean' } },
    },
    object({ a: { type: 'string' }, b: { type: 'number' }, c: { type: 'boolean' } }, { required: ['a'] }),
  ],
  [
    'other members',
    object(
      { a: object({}, { additionalProperties: { type: 'string', format: 'x' } }) },
      { additionalProperties: false },
    ),
    object(
      { a: object({}, { additionalProperties: { type: 'string', description: '(format x)' } }) },
      { additionalProperties: false },
    ),
  ],
  [
    'names that not every API takes',
    object(
      { $filter: { type: 'string' }, 'a b': { type: 'string' }, 'ok.name-1': { type: 'string' } },
      { required: ['a b'] },
    ),
    object({ 'a b': { type: 'string' }, 'ok.name-1': { type: 'string' } }, { required: ['a b'] }),
  ],
  [
    'conditions, which are left out',
    object({ a: { type: 'string' } }, { if: {}, else: {}, dependentRequired: {}, patternProperties: {} }),
    object({ a: { type: 'string' } }),
  ],
])('%s', (_what, given, expected) => {
  // As it is sent: members that are undefined are not there.
  expect(JSON.parse(JSON.stringify(modelSchema(given)))).toEqual(expected);
});

test('what was made is made of itself again', () => {
  const given = object({ a: { type: ['string', 'number'] }, b: { enum: ['x', 1] } }, { required: ['a'] });
  const once = JSON.parse(JSON.stringify(modelSchema(given)));
  expect(JSON.parse(JSON.stringify(modelSchema(once)))).toEqual(once);
});

const lengthOf = (given: unknown): number => JSON.stringify(modelSchema(given)).length;

test('no schema is so large or so twisted that it takes long or comes out long', () => {
  const wide = object(
    Object.fromEntries(
      Array.from({ length: 20_000 }, (_, i) => [`p${i}`, { type: 'string', description: 'x'.repeat(500) }]),
    ),
  );
  expect(lengthOf(wide)).toBeLessThanOrEqual(12_000);
  let deep: object = { type: 'string' };
  for (let i = 0; i < 2_000; i += 1) deep = object({ a: deep });
  expect(lengthOf(deep)).toBeLessThanOrEqual(12_000);
  const fan = {
    allOf: Array.from({ length: 10 }, () => ({ $ref: '#/d/0' })),
    d: {} as Record<string, object>,
  };
  for (let i = 0; i < 30; i += 1) {
    fan.d[i] = { allOf: Array.from({ length: 10 }, () => ({ $ref: `#/d/${i + 1}` })) };
  }
  expect(lengthOf(fan)).toBeLessThanOrEqual(12_000);
  const chain = { $ref: '#/a', a: { $ref: '#/b' }, b: { $ref: '#/a' } };
  expect(modelSchema(chain)).toEqual(object({}));
});

test('a list that is named very often is not compared for very long', () => {
  const asked = Array.from({ length: 12_000 }, (_, i) => `p${i}`);
  const often = { oneOf: Array.from({ length: 200 }, () => ({ $ref: '#/$defs/a' })) };
  expect(modelSchema({ ...often, $defs: { a: { required: asked } } })).toEqual(object({}));
});

test('any JSON becomes a schema of an object', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (given) => {
      const { type, properties } = modelSchema(given) as { type: unknown; properties: unknown };
      expect(type).toBe('object');
      expect(typeof properties).toBe('object');
    }),
  );
});
