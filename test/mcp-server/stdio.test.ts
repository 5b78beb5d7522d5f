// `npm run mcp` as desktop programs start it: a process of its own, in front of a running service.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { connectMcp, type McpClient, REVISIONS, type Revision } from '../support/mcp-client.ts';
import { openTroupe, type TestTroupe } from '../support/troupe.ts';

const MAIN = fileURLToPath(new URL('../../src/mcp-server/main.ts', import.meta.url));
/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9';
let app: TestTroupe;

beforeAll(async () => {
  app = await openTroupe();
  await app.configure({ mcp: { server: { enabled: true } } });
});
afterAll(() => app.close());

const openBridge = (revision: Revision): Promise<McpClient> =>
  connectMcp(new StdioClientTransport({ command: process.execPath, args: [MAIN, app.url] }), revision);

describe.each(REVISIONS)('a desktop program of the %s revision', (revision) => {
  test('lists, calls and follows what the running service offers', async () => {
    app.double.answer({ text: 'Hello from the double.' });
    const { client, tool } = await openBridge(revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'troupe', version: app.troupe.version });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('run_agent');
    const heard: (string | undefined)[] = [];
    const { text, data } = await tool(
      'run_agent',
      { message: 'Hello' },
      { onprogress: ({ message }) => heard.push(message) },
    );
    expect(text).toBe('Hello from the double.');
    expect(heard[0]).toMatch(/was accepted$/);
    expect((await tool('read_run', { run_id: data.run_id })).data).toEqual(data);
    await expect(client.callTool({ name: 'unheard_of', arguments: {} })).rejects.toThrow('Unknown tool');
  });

  test('cancels a run with its call', async () => {
    app.double.answer({ fault: { kind: 'silence' } });
    const { tool } = await openBridge(revision);
    const call = new AbortController();
    const before = app.double.requestCount;
    void app.double.received(before).then(() => call.abort());
    await expect(tool('run_agent', { message: 'Never mind' }, { signal: call.signal })).rejects.toThrow();
    await eventually(
      async () => (await app.call('GET', '/api/agent/chat/runs?limit=1')).body.runs[0].status,
    ).toBe('cancelled');
  });
});

test('a service that was restarted is met again, and its absence is told', async () => {
  const port = await freePort();
  await using service = await openTroupe({ script: { text: 'Here.' }, service: { port } });
  await service.configure({ mcp: { server: { enabled: true } } });
  const bridge = new StdioClientTransport({ command: process.execPath, args: [MAIN, service.url] });
  const { tool } = await connectMcp(bridge);
  expect((await tool('run_agent', { message: 'Hello' })).text).toBe('Here.');
  await service.restart();
  expect((await tool('run_agent', { message: 'Still there?' })).text).toBe('Here.');
  await service.troupe.stop();
  await expect(tool('list_agents')).rejects.toThrow(/No Troupe answers at .*npm start/);
});

test('standard output carries the protocol and nothing else, and its end is the end', async () => {
  const bridge = spawnBridge(app.url);
  const messages = [
    {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } },
    },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ];
  for (const message of messages) bridge.child.stdin.write(`${JSON.stringify(message)}\n`);
  await eventually(() => bridge.said().split('\n').length).toBeGreaterThan(2);
  bridge.child.stdin.end();
  expect(await bridge.exited).toBe(0);
  const lines = bridge.said().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2]);
});

test('without a service it says how to start one, and fails', async () => {
  const { exited, said, complained } = spawnBridge(NOWHERE);
  expect(await exited).toBe(1);
  expect(complained()).toMatch(/No Troupe answers at http:\/\/127\.0\.0\.1:9.*npm start/);
  expect(said()).toBe('');
});

test('in front of a service that offers nothing it says how to switch that on', async () => {
  await app.configure({ mcp: { server: { enabled: false } } });
  try {
    const { exited, complained } = spawnBridge(app.url);
    expect(await exited).toBe(1);
    expect(complained()).toContain('{"mcp":{"server":{"enabled":true}}}');
  } finally {
    await app.configure({ mcp: { server: { enabled: true } } });
  }
});

test('what is no URL is told how it is used', async () => {
  const { exited, complained } = spawnBridge('nonsense');
  expect(await exited).toBe(2);
  expect(complained()).toMatch(/^usage: /);
});

function spawnBridge(url: string) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [MAIN, url]);
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(([code]) => code as number);
  return { child, exited, said: () => stdout, complained: () => stderr };
}
