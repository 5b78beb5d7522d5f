// Health: the report, decided from what was found out.
// H1 Any unhealthy store, and an engine that cannot be used, make the whole `degraded`; the answer itself is always a good one.
// H2 The report is public: why a store does not answer (its path is in there) is for the log.
// H3 One LMDB environment stands where the wire format knows three stores: it is reported under each of their names, and
//    its size under one of them only, so that a sum is right.

import type { EngineStatus } from '../embeddings/protocol.ts';
import { CLIENT_VERSION_MIN, type Health, PROTOCOL_VERSION } from './protocol.ts';

/** What a look at the store gave. */
export type StoreFinding =
  | { readonly kind: 'readable'; readonly bytesOnDisk: number }
  | { readonly kind: 'unreadable' };

export interface Findings {
  readonly store: StoreFinding;
  /** Null when nobody could say. */
  readonly engine: EngineStatus | null;
}

export interface HealthQuery {
  readonly include_memory?: boolean;
  readonly include_storage?: boolean;
}

/** The names of the stores on the wire: the specification's three, then the clients' three. */
const STORE_NAMES = ['graph', 'relational', 'cache', 'neo4j', 'postgres', 'redis'] as const;
const BYTES_PER_MB = 1024 * 1024;

export function healthReport(version: string, { store, engine }: Findings, query: HealthQuery): Health {
  // No engine yet, and nothing against it: it is being looked for.
  const isEngineWell = engine === null || engine.error === null;
  const healthy = store.kind === 'readable' && isEngineWell;
  return {
    status: healthy ? 'healthy' : 'degraded',
    version,
    protocol_version: PROTOCOL_VERSION,
    min_client_version: CLIENT_VERSION_MIN,
    cluster: 'default',
    api: { status: 'healthy' },
    compute: { device: 'cpu', cuda_available: false },
    translation: { status: 'not_loaded', models: { language_detection: null, translation: null } },
    embeddings: embeddingsSection(engine),
    ...(query.include_memory === true ? { memory: memorySection(store) } : {}),
    ...(query.include_storage === true ? { storage: storageSection(store) } : {}),
  };
}

/** Of an engine that could never be opened there is nothing to say but why. */
function embeddingsSection(engine: EngineStatus | null): Health['embeddings'] {
  if (engine === null || (engine.current === null && engine.error === null)) return null;
  const { current, next, state, error, progress } = engine;
  const { provider, model, dimensions } = current ?? { provider: 'local', model: '', dimensions: 0 };
  const becoming = next && { provider: next.provider, model: next.model, dimensions: next.dimensions };
  return { provider, model, dimensions, status: state, error, next: becoming && { ...becoming, progress } };
}

function memorySection(store: StoreFinding): Required<Health>['memory'] {
  const entry =
    store.kind === 'readable'
      ? { status: 'healthy', error: null }
      : { status: 'unhealthy', error: 'the store does not answer' };
  return Object.fromEntries(STORE_NAMES.map((name) => [name, entry]));
}

function storageSection(store: StoreFinding): Required<Health>['storage'] {
  return {
    postgres_size_mb: store.kind === 'readable' ? store.bytesOnDisk / BYTES_PER_MB : null,
    neo4j_size_mb: null,
    redis_memory_mb: null,
  };
}
