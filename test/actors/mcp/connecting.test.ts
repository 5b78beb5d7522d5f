import { afterAll, beforeEach, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { connectServer, ownServer } from '../../support/mcp-configs.ts';
import { startEverything } from '../../support/mcp-everything.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

const listed = async () => (await app.call('GET', '/api/mcp/servers')).body.servers;
const server = async (name: string) => (await app.call('GET', `/api/mcp/servers/${name}`)).body;
const connect = (body: object) => app.call('POST', '/api/mcp/connect', body);
const disconnect = (body: object) => app.call('POST', '/api/mcp/disconnect', body);
const add = (name: string, config: object) => app.call('POST', '/api/mcp/servers', { name, config });

beforeEach(async () => {
  for (const { name } of await listed()) await app.call('DELETE', `/api/mcp/servers/${name}`);
});

test('a server is connected and disconnected, and shows what it has meanwhile', async () => {
  await add('own', ownServer());
  const { status, body } = await connect({ server: 'own' });
  expect(status).toBe(200);
  expect(body).toEqual({ status: 'connected', server: 'own', tools_count: 18, resources_count: 1 });
  expect(await server('own')).toMatchObject({
    status: 'connected',
    auto_connect: true,
    tools: expect.arrayContaining(['echo', 'crash']),
    tools_count: 18,
    resources_count: 1,
    error: null,
  });
  const { tools, count } = (await app.call('GET', '/api/mcp/tools')).body;
  expect(count).toBe(18);
  expect(tools[2]).toEqual({
    name: 'echo',
    description: 'does echo',
    input_schema: { type: 'object' },
    server_name: 'own',
  });
  expect((await app.call('GET', '/api/mcp/tools?server=other')).body.count).toBe(0);
  expect((await app.call('GET', '/api/mcp/resources?server=own')).body).toEqual({
    resources: [
      { uri: 'note://1', name: 'one', description: '', mime_type: 'text/plain', server_name: 'own' },
    ],
    count: 1,
  });
  const prompt = (await app.call('GET', '/api/prompts/mcp-tools')).body;
  expect(prompt.tools_count).toBe(18);
  expect(prompt.mcp_tools_prompt).toContain('- **own.echo**: does echo');

  expect((await disconnect({ server: 'own' })).body).toEqual({ status: 'disconnected', server: 'own' });
  expect(await server('own')).toMatchObject({ status: 'disconnected', auto_connect: false, tools: [] });
  expect((await disconnect({ server: 'own' })).status).toBe(404);
  expect((await app.call('GET', '/api/mcp/tools')).body.count).toBe(0);
});

test('a server that cannot be reached is an error, and says why', async () => {
  await add('gone', { command: '/no/such/program' });
  const { status, body } = await connect({ server: 'gone' });
  expect(status).toBe(500);
  expect(body.error).toMatch(/^Connection failed: .*/);
  expect(await server('gone')).toMatchObject({
    status: 'error',
    error: expect.stringContaining('/no/such/program'),
    auto_connect: false,
  });
});

test('all are connected, each as far as it goes, and all are disconnected', async () => {
  await add('one', ownServer());
  await add('two', ownServer());
  await add('silent', ownServer(['--hang'], { timeout: 0.5 }));
  await add('socket', { transport: 'websocket', url: 'ws://127.0.0.1:9' });
  const { status, body } = await connect({ all: true });
  expect(status).toBe(200);
  const connected = { status: 'connected', tools_count: 18, resources_count: 1 };
  expect(body).toEqual({
    results: {
      one: connected,
      two: connected,
      silent: { status: 'error', error: expect.any(String) },
      socket: { status: 'error', error: expect.stringContaining('websocket') },
    },
  });
  expect((await disconnect({ all: true })).body).toEqual({ status: 'disconnected_all' });
  const statuses = (await listed()).map((one: { status: string }) => one.status);
  expect(statuses).not.toContain('connected');
});

test('a change, a rename and a deletion drop the live connection', async () => {
  await connectServer(app, 'live');
  await app.call('PUT', '/api/mcp/servers/live', { config: ownServer([], { timeout: 9 }) });
  expect(await server('live')).toMatchObject({ status: 'disconnected', auto_connect: true, timeout: 9 });
  expect((await connect({ server: 'live' })).status).toBe(200);
  await app.call('PUT', '/api/mcp/servers/live', { config: ownServer(), rename: 'moved' });
  expect(await server('moved')).toMatchObject({ status: 'disconnected' });
  expect((await connect({ server: 'moved' })).status).toBe(200);
  expect((await app.call('DELETE', '/api/mcp/servers/moved')).status).toBe(200);
  expect((await app.call('GET', '/api/mcp/tools')).body.count).toBe(0);
});

test('what makes no sense at all as a server is refused, and costs nobody a connection', async () => {
  await connectServer(app, 'steady');
  let deep: object = {};
  for (let i = 0; i < 4_000; i += 1) deep = { a: deep };
  const refused = async (body: object, path = ''): Promise<void> =>
    expect((await app.call('POST', `/api/mcp/servers${path}`, body)).status).toBe(400);
  await refused({ server: { name: { toString: 'no function' }, command: 'x' } });
  const auth = { type: 'oauth', deep };
  await refused({ name: 'deep', config: { transport: 'sse', url: 'http://127.0.0.1:9', auth } });
  await refused({ config: { command: 'x', auth } }, '/validate');
  expect(await server('steady')).toMatchObject({ status: 'connected' });
});

test('the reference server is connected over HTTP', async () => {
  const everything = await startEverything('streamableHttp');
  await connectServer(app, 'everything', { transport: 'streamable_http', url: everything.url });
  const { tools, resources_count } = await server('everything');
  expect(tools).toContain('echo');
  expect(resources_count).toBeGreaterThan(0);
});

test('those that were connected are connected again after a restart, and what fails holds up nobody', async () => {
  await connectServer(app, 'kept');
  await connectServer(app, 'left');
  await disconnect({ server: 'left' });
  await add('broken', { command: '/no/such/program', auto_connect: true });
  await app.restart();
  await eventually(async () => (await server('kept')).status).toBe('connected');
  expect(await server('kept')).toMatchObject({ tools_count: 18, auto_connect: true });
  expect(await server('left')).toMatchObject({ status: 'disconnected', auto_connect: false });
  await eventually(async () => (await server('broken')).error).toContain('/no/such/program');
});
