// EngineSource: where an engine comes from, as the settings name it. Plain data: it is stored with the engine, so that an old
// one can still be opened when the settings name another.

import type { Settings } from '../config/protocol.ts';

export type EngineSource =
  | { readonly kind: 'builtin' }
  | {
      readonly kind: 'folder';
      readonly directory: string;
      /** Inside of the folder; null for the pick order of model-folder.ts. */
      readonly file: string | null;
      /** 0 for as many as the model has. */
      readonly dimensions: number;
      /** Null for what the folder says. */
      readonly queryPrefix: string | null;
      readonly passagePrefix: string | null;
    }
  | {
      readonly kind: 'remote';
      readonly provider: string;
      readonly model: string;
      readonly dimensions: number;
      readonly queryPrefix: string | null;
      readonly passagePrefix: string | null;
    };

/** A folder goes before a remote model, which goes before what is built in. */
export function sourceOf(settings: Settings): EngineSource {
  const common = {
    dimensions: settings['embeddings.dimensions'],
    queryPrefix: settings['embeddings.query_prefix'] || null,
    passagePrefix: settings['embeddings.passage_prefix'] || null,
  };
  const directory = settings['embeddings.model_dir'];
  if (directory !== null) {
    return { kind: 'folder', directory, file: settings['embeddings.model_file'], ...common };
  }
  const reference = settings['embeddings.remote_model'];
  if (reference === '') return { kind: 'builtin' };
  const colon = reference.indexOf(':');
  return {
    kind: 'remote',
    provider: reference.slice(0, colon),
    model: reference.slice(colon + 1),
    ...common,
  };
}

export function isSameSource(one: EngineSource, other: EngineSource): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
