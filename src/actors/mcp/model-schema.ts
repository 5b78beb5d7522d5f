// ModelSchema: the JSON Schema of a tool as the APIs of models take it. Pure. Servers write any dialect of JSON Schema; the
// APIs take plain objects, refuse the rest with the whole request, and each refuses something else.
// C1 The root is an object with properties, whatever it was; so is what is called an object further down.
// C2 Nothing refers to anything: references into the schema are written out, the rest means "anything".
// C3 What is kept means the same everywhere. What is dropped stands in a description where a model can use it: the server checks
//    the arguments again anyway.
// C4 Depth, number of parts and length are bounded: a schema is part of every prompt. So is every list of it, before anything is
//    compared: a server may name the same long one two hundred times, and this is the thread that serves everyone.

import { inlined } from './schema-references.ts';

export type Schema = Readonly<Record<string, unknown>>;

const DEPTH_MAX = 10;
const PARTS_MAX = 400;
/** Of a list, and of the members of an object. */
const LIST_MAX = 400;
/** Of the given schema: every part that is kept takes two levels or three of it. */
const GIVEN_DEPTH_MAX = 100;
const SCHEMA_CHARS_MAX = 12_000;
const DESCRIPTION_CHARS_MAX = 600;
const ENUM_MAX = 200;
/** Grammars that are made of schemas repeat what may be repeated. */
const COUNT_MAX = 1_000;
/** What each API takes as the name of an argument. */
const MEMBER_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array']);
const NUMBER_BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] as const;
const COUNT_BOUNDS = ['minLength', 'maxLength', 'minItems', 'maxItems'] as const;

/** Never throws. The parameters of a tool that takes any object, for what is no schema at all. */
export function modelSchema(source: unknown): Schema {
  const given = shortened(source);
  const whole = new Rewriting(given).root();
  if (JSON.stringify(whole).length <= SCHEMA_CHARS_MAX) return whole;
  const terse = new Rewriting(given, { describes: false }).root();
  if (JSON.stringify(terse).length <= SCHEMA_CHARS_MAX) return terse;
  // The names of the arguments are worth more than nothing; of very many the first ones.
  const shallow = new Rewriting(given, { describes: false, depthMax: 1, partsMax: 100 }).root();
  return JSON.stringify(shallow).length <= SCHEMA_CHARS_MAX ? shallow : ANY_OBJECT;
}

const ANY_OBJECT: Schema = { type: 'object', properties: {} };

interface Limits {
  readonly describes: boolean;
  readonly depthMax: number;
  readonly partsMax: number;
}

class Rewriting {
  readonly #given: unknown;
  readonly #limits: Limits;
  #parts = 0;
  /** The parts that are being written out, from the root down. */
  readonly #path: unknown[] = [];

  constructor(given: unknown, limits: Partial<Limits> = {}) {
    this.#given = given;
    this.#limits = { describes: true, depthMax: DEPTH_MAX, partsMax: PARTS_MAX, ...limits };
  }

  /** C1. */
  root(): Schema {
    return this.#enter(this.#given, ANY_OBJECT, (source) => {
      const merged = this.#mergedObject(source);
      return { ...ANY_OBJECT, ...this.#object(merged, 0), ...this.#description(merged, []) };
    });
  }

  /** C2, C4. What refers to something that it is a part of means anything there. */
  #enter(given: unknown, otherwise: Schema, go: (source: Schema) => Schema): Schema {
    const { source, origin } = inlined(given, this.#given);
    this.#parts += 1;
    if (this.#parts > this.#limits.partsMax || this.#path.includes(origin)) return otherwise;
    this.#path.push(origin);
    const written = go(source);
    this.#path.pop();
    return written;
  }

  #part(given: unknown, depth: number): Schema {
    if (depth > this.#limits.depthMax) return {}; // C4
    return this.#enter(given, {}, (source) => this.#resolved(source, depth));
  }

  #resolved(source: Schema, depth: number): Schema {
    if (Array.isArray(source['allOf'])) return this.#resolved(this.#mergedObject(source), depth);
    const choices = source['anyOf'] ?? source['oneOf'];
    if (Array.isArray(choices)) return this.#choice(source, choices, depth);
    const types = typesOf(source);
    if (types.length > 1) {
      const branches = types.map((type) => ({ ...source, type, description: undefined }));
      return this.#choice(source, branches, depth);
    }
    return this.#plain(source, types[0], depth);
  }

  #plain(source: Schema, type: unknown, depth: number): Schema {
    const hints: string[] = [];
    const rewritten: Record<string, unknown> = type === undefined ? {} : { type };
    const values = enumOf(source);
    if (values !== null) rewritten['enum'] = values;
    if (type === 'object') Object.assign(rewritten, this.#object(source, depth));
    if (type === 'array') rewritten['items'] = this.#items(source, depth);
    for (const bound of NUMBER_BOUNDS) {
      if (typeof source[bound] === 'number') rewritten[bound] = source[bound];
    }
    for (const bound of COUNT_BOUNDS) {
      const count = source[bound];
      if (typeof count !== 'number') continue;
      if (count <= COUNT_MAX) rewritten[bound] = count;
      else hints.push(`${bound} ${count}`);
    }
    for (const word of ['format', 'pattern'] as const) {
      if (typeof source[word] === 'string') hints.push(`${word} ${source[word]}`);
    }
    if (isPlainValue(source['default'])) rewritten['default'] = source['default'];
    return { ...rewritten, ...this.#description(source, hints) };
  }

  #object(source: Schema, depth: number): Schema {
    const members = isObject(source['properties']) ? source['properties'] : {};
    const required = new Set(Array.isArray(source['required']) ? source['required'] : []);
    const properties: Record<string, Schema> = {};
    for (const [name, member] of Object.entries(members)) {
      // What cannot be named to a model can be left out, unless the server insists.
      if (!MEMBER_NAME.test(name) && !required.has(name)) continue;
      if (this.#parts >= this.#limits.partsMax && !required.has(name)) continue;
      properties[name] = this.#part(required.has(name) ? member : withoutNull(member), depth + 1);
    }
    const named = Object.keys(properties).filter((name) => required.has(name));
    const { additionalProperties } = source;
    const isOpen = isObject(additionalProperties);
    return {
      properties,
      ...(named.length === 0 ? {} : { required: named }),
      ...(typeof additionalProperties === 'boolean' ? { additionalProperties } : {}),
      ...(isOpen ? { additionalProperties: this.#part(additionalProperties, depth + 1) } : {}),
    };
  }

  /** A list whose places differ is a list of any of them. */
  #items(source: Schema, depth: number): Schema {
    const { items, prefixItems } = source;
    const places = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : null;
    if (places === null) return this.#part(items ?? {}, depth + 1);
    return places.length === 0 ? {} : this.#choice({}, places, depth + 1);
  }

  #choice(source: Schema, choices: readonly unknown[], depth: number): Schema {
    const { anyOf: _anyOf, oneOf: _oneOf, ...common } = source;
    // What is said beside the choice holds for each branch of it.
    const branches = choices
      .slice(0, ENUM_MAX)
      .map((choice) =>
        this.#enter(choice, {}, (branch) =>
          depth < this.#limits.depthMax ? this.#resolved(withCommon(common, branch), depth + 1) : {},
        ),
      );
    const described = this.#description(source, []);
    const distinct = [...new Map(branches.map((branch) => [JSON.stringify(branch), branch])).values()];
    const [first = {}] = distinct;
    if (distinct.length === 1) return { ...first, ...described };
    const values = literalsOf(distinct);
    if (values !== null) return { ...values, ...described };
    return { anyOf: distinct, ...described };
  }

  /** Everything that any part of it says of an object: of `allOf` together, of a choice between shapes what may be there. */
  #mergedObject(source: Schema): Schema {
    const { allOf, anyOf, oneOf, ...own } = source;
    const flat = (list: unknown): readonly Schema[] =>
      (Array.isArray(list) ? list.slice(0, ENUM_MAX) : []).map((part) =>
        this.#enter(part, {}, (entered) => this.#mergedObject(entered)),
      );
    const all = flat(allOf);
    const choices = [...flat(anyOf), ...flat(oneOf)].filter((choice) => choice['type'] !== 'null');
    const required = new Set([...membersOf(own), ...all.flatMap(membersOf)]);
    const [firstAsks, ...othersAsk] = choices.map((choice) => new Set(membersOf(choice)));
    // Only what every choice asks for is asked for.
    for (const name of firstAsks ?? []) {
      if (othersAsk.every((asks) => asks.has(name))) required.add(name);
    }
    const parts = [...choices, ...all, own];
    const properties = Object.assign({}, ...parts.map((part) => part['properties'])) as Schema;
    return {
      ...Object.assign({}, ...all),
      ...own,
      ...(Object.keys(properties).length === 0 ? {} : { properties }),
      ...(required.size === 0 ? {} : { required: [...required] }),
      // Each forbids what the others name.
      ...(parts.length > 1 ? { additionalProperties: undefined } : {}),
    };
  }

  /** C3. */
  #description(source: Schema, hints: readonly string[]): { readonly description?: string } {
    if (!this.#limits.describes) return {};
    const told = typeof source['description'] === 'string' ? source['description'] : source['title'];
    const text = [
      typeof told === 'string' ? told.trim() : '',
      hints.length === 0 ? '' : `(${hints.join(', ')})`,
    ]
      .filter((piece) => piece !== '')
      .join(' ')
      .slice(0, DESCRIPTION_CHARS_MAX)
      .toWellFormed();
    return text === '' ? {} : { description: text };
  }
}

/** C4. */
function shortened(part: unknown, depth = 0): unknown {
  if (typeof part !== 'object' || part === null) return part;
  if (depth === GIVEN_DEPTH_MAX) return {};
  if (Array.isArray(part)) return part.slice(0, LIST_MAX).map((one) => shortened(one, depth + 1));
  const members = Object.entries(part).slice(0, LIST_MAX);
  return Object.fromEntries(members.map(([name, member]) => [name, shortened(member, depth + 1)]));
}

function typesOf(source: Schema): readonly unknown[] {
  const { type } = source;
  if (Array.isArray(type)) return type.filter((one) => TYPES.has(one) || one === 'null');
  if (TYPES.has(type) || type === 'null') return [type];
  if ('properties' in source) return ['object'];
  if ('items' in source || 'prefixItems' in source) return ['array'];
  const values = enumOf(source);
  const kinds = new Set(values?.map((value) => typeof value));
  const [kind] = kinds;
  return kinds.size === 1 && TYPES.has(kind) ? [kind] : [];
}

/** The values that it may have, where they are plain ones. */
function enumOf(source: Schema): readonly unknown[] | null {
  const values = Array.isArray(source['enum'])
    ? source['enum']
    : 'const' in source
      ? [source['const']]
      : null;
  if (values === null) return null;
  const plain = [...new Set(values.filter(isPlainValue))].slice(0, ENUM_MAX);
  return plain.length === 0 ? null : plain;
}

/** Branches that are literals of one type are one list of values. */
function literalsOf(branches: readonly Schema[]): Schema | null {
  const [first] = branches;
  const isLiteral = (branch: Schema): boolean => branch['type'] === first?.['type'] && 'enum' in branch;
  if (first === undefined || first['type'] === undefined || !branches.every(isLiteral)) return null;
  return { type: first['type'], enum: branches.flatMap((branch) => branch['enum']) };
}

/** An argument that may be left out need not be null as well. */
function withoutNull(member: unknown): unknown {
  if (!isObject(member)) return member;
  const { type, anyOf, oneOf, enum: values } = member;
  const kept = (list: unknown): unknown =>
    Array.isArray(list) ? list.filter((one) => !(isObject(one) && one['type'] === 'null')) : list;
  return {
    ...member,
    ...(Array.isArray(type) ? { type: type.filter((one) => one !== 'null') } : {}),
    ...(anyOf === undefined ? {} : { anyOf: kept(anyOf) }),
    ...(oneOf === undefined ? {} : { oneOf: kept(oneOf) }),
    ...(Array.isArray(values) ? { enum: values.filter((value) => value !== null) } : {}),
    ...(member['default'] === null ? { default: undefined } : {}),
  };
}

function withCommon(common: Schema, branch: Schema): Schema {
  const { description: _description, title: _title, default: _default, ...shared } = common;
  if (branch['type'] === 'null') return branch;
  const properties = { ...propertiesOf(shared), ...propertiesOf(branch) };
  const required = [...new Set([...membersOf(shared), ...membersOf(branch)])];
  return {
    ...shared,
    ...branch,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

function propertiesOf(source: Schema): Schema {
  return isObject(source['properties']) ? source['properties'] : {};
}

function membersOf(source: Schema): readonly unknown[] {
  return Array.isArray(source['required']) ? source['required'] : [];
}

function isPlainValue(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
