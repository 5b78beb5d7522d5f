// SchemaReferences: a part of a JSON Schema with its own reference written out. Pure.

type Schema = Readonly<Record<string, unknown>>;

/** A chain of references that is longer has no end. */
const HOPS_MAX = 8;
const ANYTHING: Schema = {};

export interface Inlined {
  readonly source: Schema;
  /** The part of the whole that it is: who meets it again on the way down goes in a circle. */
  readonly origin: unknown;
}

/**
 * The part as an object: what it refers to within `root`, with what is said beside the reference. What is no object, or refers
 * to elsewhere, means anything.
 */
export function inlined(part: unknown, root: unknown): Inlined {
  let source = isObject(part) ? part : ANYTHING;
  let origin: unknown = part;
  for (let hops = 0; '$ref' in source; hops += 1) {
    const { $ref: reference, ...beside } = source;
    origin = hops < HOPS_MAX ? targetOf(reference, root) : undefined;
    source = { ...(isObject(origin) ? origin : ANYTHING), ...beside };
  }
  return { source, origin };
}

/** `#/$defs/Point`. */
function targetOf(reference: unknown, root: unknown): unknown {
  if (typeof reference !== 'string' || !reference.startsWith('#')) return undefined;
  let target: unknown = root;
  for (const step of reference.slice(1).split('/').slice(1)) {
    if (typeof target !== 'object' || target === null) return undefined;
    const name = decoded(step);
    target = Object.hasOwn(target, name) ? (target as Schema)[name] : undefined;
  }
  return target;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
