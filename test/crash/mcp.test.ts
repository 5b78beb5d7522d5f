// A service that is killed with MCP servers connected: they die with it, and the next one finds them again.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { stdioServer } from '../support/mcp-session-system.ts';
import { startService } from '../support/service-process.ts';
import { temporaryFolder } from '../support/storage.ts';

const MARK = 'TROUPE_TEST_MCP';

/** Processes whose environment has the mark: the servers, what they have started, and their watchers. */
function living(mark: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((id) => {
      try {
        return readFileSync(`/proc/${id}/environ`, 'utf8').split('\0').includes(`${MARK}=${mark}`);
      } catch {
        return false; // No process, or gone meanwhile.
      }
    });
}

test('kill -9 of the service ends its MCP servers, and the next start connects them again', {
  timeout: 120_000, // Two starts of the service, on a busy machine.
}, async () => {
  await using folder = await temporaryFolder();
  const mark = folder.directory;
  const options = { dataDir: folder.directory };
  await using killed = await startService(options);
  const config = stdioServer(['--grandchild', '--stubborn'], { env: { [MARK]: mark } });
  expect(await killed.call('POST', '/api/mcp/servers', { name: 'stubborn', config })).toMatchObject({
    status: 201,
  });
  expect(await killed.call('POST', '/api/mcp/connect', { server: 'stubborn' })).toMatchObject({
    status: 200,
    body: { status: 'connected' },
  });
  expect(living(mark).length).toBeGreaterThanOrEqual(3);
  await killed.kill();
  await eventually(() => living(mark)).toEqual([]);

  await using next = await startService(options);
  const status = async () => (await next.call('GET', '/api/mcp/servers')).body.servers[0].status;
  await eventually(status).toBe('connected');
  next.signal('SIGTERM');
  await next.exited;
  // They have been killed by now, and are gone as soon as the machine comes to it.
  await eventually(() => living(mark)).toEqual([]);
});
