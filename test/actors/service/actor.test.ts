import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { serviceActor } from '../../../src/actors/service/actor.ts';
import { service } from '../../../src/actors/service/protocol.ts';
import { routeTable } from '../../../src/http/routes/table.ts';
import { openStorage } from '../../../src/storage/storage.ts';
import { child } from '../../../src/supervisor/children.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { openEdge } from '../../http/edge.ts';

/** The service on a real system and real storage, behind the real edge. */
async function openService() {
  const directory = await mkdtemp(join(tmpdir(), 'service-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const storage = await openStorage({ directory, primary: true });
  onTestFinished(() => storage.close());
  const system = await createActorSystem({
    services: { storage, version: '0.22.0' },
    children: [child(serviceActor, undefined, { id: 'service', name: true })],
  });
  onTestFinished(() => system.stop());
  return { system, storage, ref: system.named(service) };
}

test('the version names service, protocol and the oldest client', async () => {
  const { ref } = await openService();
  expect(await ref.ask('version', {})).toEqual({
    version: '0.22.0',
    protocol_version: 1,
    min_client_version: '0.20.0',
  });
  expect((await ref.ask('index', {})).message).toContain('0.22.0');
});

test('health measures the store', async () => {
  const { ref, storage } = await openService();
  const health = await ref.ask('health', { include_memory: true, include_storage: true });
  expect(health.status).toBe('healthy');
  expect(health.storage?.postgres_size_mb).toBe(storage.statistics().bytesOnDisk / 2 ** 20);
});

test('health is asked over HTTP as the clients ask it', async () => {
  const { system } = await openService();
  const { send } = await openEdge(system, routeTable);
  const plain = await send('GET', '/api/health');
  expect([plain.status, plain.body.memory, plain.body.storage]).toEqual([200, undefined, undefined]);
  const full = await send('GET', '/api/health?include_memory=true&include_storage=1');
  expect(full.body.memory.redis).toEqual({ status: 'healthy', error: null });
  expect(full.body.storage.postgres_size_mb).toBeGreaterThan(0);
  expect(full.body.embeddings).toBeNull();
});
