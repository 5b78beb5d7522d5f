// Setting references: the models that settings name, those of memory's stages included, found by their values: a setting
// that is declared later is found too.

import type { ActorContext } from '../../supervisor/actor.ts';
import { config, type Settings } from '../config/protocol.ts';
import type { AliasRef, StoredRef } from './alias-migration.ts';

/** A kind of place where models are named. What names models elsewhere is one more of these. */
export interface ReferenceSource {
  readonly stores: ReadonlySet<StoredRef['store']>;
  read(): Promise<readonly StoredRef[]>;
  /** All or nothing. */
  rewrite(refs: readonly AliasRef[]): Promise<void>;
}

export function settingReferences(context: ActorContext): ReferenceSource {
  return {
    stores: new Set(['config', 'memory_settings']),
    async read() {
      const { entries } = await context.ask(config, 'manifest', {});
      return entries.flatMap(({ key, store, value, writable_via, help }) => {
        // What the operator has set is the operator's to change.
        if (typeof value !== 'string' || writable_via === null) return [];
        return [
          {
            store: store === 'memory' ? 'memory_settings' : 'config',
            location: key,
            label: help?.summary.replace(/[.]$/, '') ?? key,
            current: value,
          },
        ];
      });
    },
    async rewrite(refs) {
      const values = Object.fromEntries(refs.map(({ location, suggested }) => [location, suggested]));
      await context.ask(config, 'assign', values as Partial<Settings>);
    },
  };
}
