import { describe, expect, test } from 'vitest';
import { healthReport } from '../../../src/actors/service/health.ts';

const readable = { store: { kind: 'readable', bytesOnDisk: 3 * 1024 * 1024 }, engine: null } as const;
const STORES = ['graph', 'relational', 'cache', 'neo4j', 'postgres', 'redis'];

describe('the health report', () => {
  test('says who it is and that it is well', () => {
    expect(healthReport('0.22.0', readable, {})).toEqual({
      status: 'healthy',
      version: '0.22.0',
      protocol_version: 1,
      min_client_version: '0.20.0',
      cluster: 'default',
      api: { status: 'healthy' },
      compute: { device: 'cpu', cuda_available: false },
      translation: { status: 'not_loaded', models: { language_detection: null, translation: null } },
      embeddings: null,
    });
  });

  test('shows the one store under each name that the wire format has for it', () => {
    const { memory } = healthReport('0.22.0', readable, { include_memory: true });
    expect(memory).toEqual(
      Object.fromEntries(STORES.map((name) => [name, { status: 'healthy', error: null }])),
    );
  });

  test('counts the size of the one store once', () => {
    const { storage } = healthReport('0.22.0', readable, { include_storage: true });
    expect(storage).toEqual({ postgres_size_mb: 3, neo4j_size_mb: null, redis_memory_mb: null });
  });

  test('is degraded when the store does not answer, also where nobody asked about the store', () => {
    const report = healthReport(
      '0.22.0',
      { store: { kind: 'unreadable' }, engine: null },
      { include_memory: true, include_storage: true },
    );
    expect(report.status).toBe('degraded');
    expect(report.memory?.postgres).toEqual({ status: 'unhealthy', error: 'the store does not answer' });
    expect(report.storage?.postgres_size_mb).toBeNull();
    expect(healthReport('0.22.0', { store: { kind: 'unreadable' }, engine: null }, {}).status).toBe(
      'degraded',
    );
  });
});
