// Alias migration: stored model ids that the aggregator has renamed by putting a tilde before them. Pure.
// I1 A replacement is proposed only where the live catalog holds it, and does not hold the stored id any more.
// I2 Only what a fresh scan finds again, word for word, is rewritten.

import type { Static } from '../../std/schema.ts';
import type { AliasRef as AliasRefSchema } from './protocol.ts';
import { memberOf } from './upstream.ts';

export type AliasRef = Static<typeof AliasRefSchema>;
/** A place that names a model, whether that was renamed or not. */
export type StoredRef = Omit<AliasRef, 'suggested'>;

const PREFIX = 'openrouter:';

/** The ids in the catalog's answer; null when it holds none, which no catalog does. */
export function catalogIds(body: unknown): ReadonlySet<string> | null {
  const models = memberOf(body, 'data');
  if (!Array.isArray(models)) return null;
  const ids = models.map((model) => memberOf(model, 'id')).filter((id) => typeof id === 'string');
  return ids.length === 0 ? null : new Set(ids);
}

/** I1. */
export function renamedRefs(stored: readonly StoredRef[], catalog: ReadonlySet<string>): readonly AliasRef[] {
  return stored.flatMap((ref) => {
    if (!ref.current.startsWith(PREFIX)) return [];
    const id = ref.current.slice(PREFIX.length);
    const renamed = `~${id}`;
    return catalog.has(renamed) && !catalog.has(id) ? [{ ...ref, suggested: PREFIX + renamed }] : [];
  });
}

export interface Verified {
  readonly confirmed: readonly AliasRef[];
  readonly refused: readonly { readonly location: string; readonly error: string }[];
}

/** I2. `scanned` is null when the catalog could not be asked. */
export function verifyRefs(given: readonly AliasRef[], scanned: readonly AliasRef[] | null): Verified {
  if (scanned === null) return { confirmed: [], refused: given.map((ref) => refusal(ref, UNCHECKED)) };
  const found = new Map(scanned.map((ref) => [nameOf(ref), ref]));
  const confirmed = new Map<string, AliasRef>();
  const refused: { location: string; error: string }[] = [];
  for (const ref of given) {
    const name = nameOf(ref);
    const match = found.get(name);
    if (match === undefined) refused.push(refusal(ref, CHANGED));
    else confirmed.set(name, match);
  }
  return { confirmed: [...confirmed.values()], refused };
}

const UNCHECKED = 'the catalog could not be asked';
const CHANGED = 'this is not what a scan finds there now';

function refusal({ location }: AliasRef, error: string): { location: string; error: string } {
  return { location, error };
}

function nameOf({ store, location, current, suggested }: AliasRef): string {
  return JSON.stringify([store, location, current, suggested]);
}
