// What becomes of connections when something is lost: the thread of the sessions, or the whole service.

import { expect, test, vi } from 'vitest';
import { MCP_THREAD } from '../../../src/actors/mcp-sessions/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { connectServer, ownServer } from '../../support/mcp-configs.ts';
import { spawnService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { openTroupe, type ServiceClient } from '../../support/troupe.ts';

// Services, threads and servers are started, some of them twice: on a busy machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

const statusOf = async (app: ServiceClient, name: string): Promise<string> =>
  (await app.call('GET', `/api/mcp/servers/${name}`)).body.status;

const threadOf = async (app: ServiceClient): Promise<number | undefined> => {
  const { threads } = (await app.call('GET', '/api/runtime/threads')).body;
  return threads.find(({ name }: { name: string | null }) => name === MCP_THREAD)?.thread;
};

test('the thread of the sessions starts with the first of them, and is replaced with all of them when it is lost', async () => {
  await using app = await openTroupe({ offline: true });
  for (const name of ['one', 'two']) {
    await app.call('POST', '/api/mcp/servers', { name, config: ownServer() });
  }
  expect(await threadOf(app)).toBeUndefined();
  for (const server of ['one', 'two']) {
    expect((await app.call('POST', '/api/mcp/connect', { server })).status).toBe(200);
  }
  const before = (await threadOf(app)) as number;
  expect(before).toEqual(expect.any(Number));

  await app.troupe.system.terminateThread(before);
  await eventually(() => threadOf(app)).not.toBe(before);
  for (const name of ['one', 'two']) await eventually(() => statusOf(app, name)).toBe('connected');
  expect((await app.call('GET', '/api/mcp/tools')).body.count).toBe(36);
});

test('a server that never comes up is tried again beside the others, which do not notice', async () => {
  await using app = await openTroupe({ offline: true });
  await connectServer(app, 'steady');
  const frail = ownServer(['--exit'], { auto_connect: true });
  await app.call('POST', '/api/mcp/servers', { name: 'frail', config: frail });
  await app.restart();
  await eventually(() => statusOf(app, 'steady')).toBe('connected');
  await eventually(async () => (await app.call('GET', '/api/mcp/servers/frail')).body.error).not.toBe(null);
  expect(await statusOf(app, 'steady')).toBe('connected');
  // A stop is not held up by it either, and says so.
  expect((await app.call('POST', '/api/mcp/disconnect', { server: 'frail' })).status).toBe(200);
  expect(await statusOf(app, 'frail')).toBe('disconnected');
});

test('after kill -9 every server that was connected is found again, and connected', async () => {
  await using folder = await temporaryFolder();
  const dataDir = folder.directory;
  {
    await using service = spawnService({ dataDir });
    await service.ready();
    await connectServer(service, 'kept');
    await service.call('POST', '/api/mcp/servers', { name: 'quiet', config: ownServer() });
    await service.kill();
  }
  await using next = spawnService({ dataDir });
  await next.ready();
  await eventually(() => statusOf(next, 'kept')).toBe('connected');
  expect(await statusOf(next, 'quiet')).toBe('disconnected');
});
