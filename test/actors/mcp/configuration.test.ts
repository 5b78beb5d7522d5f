import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { UNSAID } from '../../support/mcp-configs.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

// biome-ignore lint/suspicious/noTemplateCurlyInString: it is what a person writes.
const TOKEN = 'Bearer ${TOKEN}';
const REMOTE = {
  transport: 'streamable_http',
  url: 'http://127.0.0.1:9/mcp',
  headers: { Authorization: TOKEN },
};

const servers = async (): Promise<readonly { name: string }[]> =>
  (await app.call('GET', '/api/mcp/servers')).body.servers;

test('a server that is added is listed, as it was written and with all that is known of it', async () => {
  const { status, body } = await app.call('POST', '/api/mcp/servers', { name: 'remote', config: REMOTE });
  expect(status).toBe(201);
  const server = {
    name: 'remote',
    ...UNSAID,
    ...REMOTE,
    status: 'disconnected',
    error: null,
    tools: [],
    tools_count: 0,
    resources_count: 0,
    tool_discovery_error: null,
    resource_discovery_error: null,
    auth_state: null,
  };
  expect(body).toEqual({ status: 'created', server });
  expect((await app.call('GET', '/api/mcp/servers/remote')).body).toEqual(server);
  expect(await servers()).toEqual([server]);
});

test('a second server of the same name is refused, also when both come at once', async () => {
  const add = () => app.call('POST', '/api/mcp/servers', { name: 'twin', config: { command: 'node' } });
  const statuses = (await Promise.all([add(), add(), add()])).map(({ status }) => status).sort();
  expect(statuses).toEqual([201, 409, 409]);
  expect((await add()).body.error).toBe('There is an MCP server twin already');
});

test('what cannot work is refused with every reason', async () => {
  const { status, body } = await app.call('POST', '/api/mcp/servers', {
    name: 'a/b',
    config: { transport: 'sse', auth: { type: 'basic' } },
  });
  expect(status).toBe(400);
  expect(body.error).toContain('url is required for sse');
  expect(body.errors).toHaveLength(3);
  expect((await app.call('POST', '/api/mcp/servers', { config: { command: 'x' } })).status).toBe(400);
  expect((await app.call('POST', '/api/mcp/servers', { name: 'x', config: 'y' })).status).toBe(400);
});

test('a configuration is validated in both forms without being kept', async () => {
  const before = await servers();
  const validate = async (body: object) => (await app.call('POST', '/api/mcp/servers/validate', body)).body;
  const good = { valid: true, errors: [] };
  expect(await validate({ server: { name: 'x', command: 'node' } })).toEqual(good);
  expect(await validate({ name: 'x', config: { command: 'node' } })).toEqual(good);
  expect(await validate({ config: { command: 'node' } })).toEqual(good);
  const bad = { valid: false, errors: ['command is required for stdio'] };
  expect(await validate({ server: { transport: 'stdio' } })).toEqual(bad);
  expect(await validate({ name: 'x', config: { transport: 'stdio' } })).toEqual(bad);
  expect(await validate({})).toEqual({ valid: false, errors: ['config must be an object'] });
  expect(await validate({ server: 'x' })).toEqual({ valid: false, errors: ['config must be an object'] });
  expect(await servers()).toEqual(before);
});

test('a server is changed and renamed, and keeps what a form does not know', async () => {
  await app.call('POST', '/api/mcp/servers', { name: 'old', config: { command: 'x', auto_connect: true } });
  const changed = await app.call('PUT', '/api/mcp/servers/old', { config: { command: 'y' }, rename: 'new' });
  expect(changed.status).toBe(200);
  expect(changed.body).toMatchObject({
    status: 'updated',
    server: { name: 'new', command: 'y', auto_connect: true },
  });
  expect((await app.call('GET', '/api/mcp/servers/old')).status).toBe(404);
  const taken = await app.call('PUT', '/api/mcp/servers/new', { config: { command: 'y' }, rename: 'remote' });
  expect(taken.status).toBe(409);
  expect((await app.call('PUT', '/api/mcp/servers/new', { config: { transport: 'sse' } })).status).toBe(400);
  expect((await app.call('PUT', '/api/mcp/servers/old', { config: { command: 'y' } })).status).toBe(404);
  expect((await app.call('GET', '/api/mcp/servers/new')).body.command).toBe('y');
});

test('a server that is deleted is gone', async () => {
  await app.call('POST', '/api/mcp/servers', { name: 'short', config: { command: 'x' } });
  expect((await app.call('DELETE', '/api/mcp/servers/short')).body).toEqual({
    status: 'deleted',
    server: 'short',
  });
  expect((await app.call('DELETE', '/api/mcp/servers/short')).status).toBe(404);
});

test('what a configuration holds cannot be read from the files of the database', async () => {
  const secret = 'sk-live-0123456789abcdef';
  await app.call('POST', '/api/mcp/servers', {
    name: 'sealed',
    config: { command: 'x', args: ['--key', secret], env: { KEY: secret } },
  });
  const data = await readFile(join(app.dataDir, 'store', 'data.mdb'));
  expect(data.includes('mcp_servers')).toBe(true);
  expect(data.includes(secret)).toBe(false);
});

test('servers are found again after a restart', async () => {
  await app.call('PUT', '/api/mcp/servers/new', { config: { command: 'y', auto_connect: false } });
  const before = await servers();
  expect(before.length).toBeGreaterThan(2);
  await app.restart();
  expect(await servers()).toEqual(before);
});

test('connect and disconnect say what is missing', async () => {
  const errorOf = async (path: string, body: object) => {
    const answer = await app.call('POST', `/api/mcp/${path}`, body);
    return [answer.status, answer.body.error];
  };
  expect(await errorOf('connect', {})).toEqual([400, 'Name a server, or say all: true']);
  expect(await errorOf('connect', { server: 'nobody' })).toEqual([404, 'Unknown MCP server: nobody']);
  expect(await errorOf('disconnect', {})).toEqual([400, 'Name a server, or say all: true']);
  expect(await errorOf('disconnect', { server: 'nobody' })).toEqual([404, 'Unknown MCP server: nobody']);
  expect(await errorOf('disconnect', { server: 'remote' })).toEqual([
    404,
    'The MCP server remote is not connected',
  ]);
  const socket = { transport: 'websocket', url: 'ws://127.0.0.1:9' };
  await app.call('POST', '/api/mcp/servers', { name: 'socket', config: socket });
  expect((await errorOf('connect', { server: 'socket' }))[0]).toBe(400);
});

test('without a connected server there are no tools, no resources and no prompt', async () => {
  expect((await app.call('GET', '/api/mcp/tools')).body).toEqual({ tools: [], count: 0 });
  expect((await app.call('GET', '/api/mcp/resources?server=remote')).body).toEqual({
    resources: [],
    count: 0,
  });
  expect((await app.call('GET', '/api/prompts/mcp-tools')).body).toEqual({
    mcp_tools_prompt: '',
    tools_count: 0,
  });
});
