// Health: the report, decided from what was found out.
// H1 Any unhealthy store makes the whole `degraded`; the answer itself is always a good one.
// H2 The report is public: why a store does not answer (its path is in there) is for the log.
// H3 One LMDB environment stands where the wire format knows three stores: it is reported under each of their names, and
//    its size under one of them only, so that a sum is right.

import { CLIENT_VERSION_MIN, type Health, PROTOCOL_VERSION } from './protocol.ts';

/** What a look at the store gave. */
export type StoreFinding =
  | { readonly kind: 'readable'; readonly bytesOnDisk: number }
  | { readonly kind: 'unreadable' };

export interface HealthQuery {
  readonly include_memory?: boolean;
  readonly include_storage?: boolean;
}

/** The names of the stores on the wire: the specification's three, then the clients' three. */
const STORE_NAMES = ['graph', 'relational', 'cache', 'neo4j', 'postgres', 'redis'] as const;
const BYTES_PER_MB = 1024 * 1024;

export function healthReport(version: string, store: StoreFinding, query: HealthQuery): Health {
  const healthy = store.kind === 'readable';
  return {
    status: healthy ? 'healthy' : 'degraded',
    version,
    protocol_version: PROTOCOL_VERSION,
    min_client_version: CLIENT_VERSION_MIN,
    cluster: 'default',
    api: { status: 'healthy' },
    compute: { device: 'cpu', cuda_available: false },
    translation: { status: 'not_loaded', models: { language_detection: null, translation: null } },
    embeddings: null,
    ...(query.include_memory === true ? { memory: memorySection(store) } : {}),
    ...(query.include_storage === true ? { storage: storageSection(store) } : {}),
  };
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
