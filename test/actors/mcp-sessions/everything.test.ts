// Against the reference server, over each of its transports.

import { expect, test } from 'vitest';
import { type McpServer, mcpSession, sessionName } from '../../../src/actors/mcp-sessions/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { EVERYTHING, startEverything } from '../../support/mcp-everything.ts';
import { openMcpSessions, remoteServer } from '../../support/mcp-sessions.ts';
import { DOUBLE_MODEL, openTroupe } from '../../support/troupe.ts';

const TRANSPORTS: readonly McpServer['transport'][] = ['stdio', 'sse', 'streamable_http'];

async function everythingOver(transport: McpServer['transport']): Promise<Partial<McpServer>> {
  if (transport === 'stdio') return { transport, command: process.execPath, args: [EVERYTHING, 'stdio'] };
  const { url } = await startEverything(transport === 'sse' ? 'sse' : 'streamableHttp');
  return remoteServer(url, { transport });
}

test.each(TRANSPORTS)('everything over %s: listed, called, read, prompted', async (transport) => {
  const sessions = await openMcpSessions();
  const session = sessions.open(await everythingOver(transport));
  const connected = await session.ask('connect', {});
  expect(connected).toMatchObject({ kind: 'connected' });
  const catalogue = await session.ask('catalogue', {});
  expect(catalogue.tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['echo', 'get-sum']));
  expect(catalogue.resources.length).toBeGreaterThan(0);
  expect(catalogue.resource_templates.length).toBeGreaterThan(0);
  expect(catalogue.prompts.length).toBeGreaterThan(0);
  expect(await session.text('echo', { message: 'hello' })).toBe('Echo: hello');
  const [image] = await session.call({ tool: 'get-tiny-image' });
  expect(image).toMatchObject({
    content: expect.arrayContaining([expect.objectContaining({ type: 'image' })]),
  });
  const items = await session.call({
    tool: 'trigger-long-running-operation',
    arguments: { duration: 1.2, steps: 3 },
  });
  expect(items.filter(({ kind }) => kind === 'progress').length).toBeGreaterThan(0);
  const [resource] = catalogue.resources;
  const { contents } = await session.ask('readResource', { uri: resource?.uri ?? '' });
  expect(contents.length).toBeGreaterThan(0);
  const { messages } = await session.ask('getPrompt', { name: 'simple-prompt', arguments: {} });
  expect(messages.length).toBeGreaterThan(0);
  // Asked in the middle of a call, and declined by policy.
  expect(await session.text('trigger-elicitation-request')).toMatch(/decline/i);
});

test.each(['sse', 'streamable_http'] as const)(
  'a server that was restarted is found again over %s',
  async (transport) => {
    const sessions = await openMcpSessions();
    const server = await startEverything(transport === 'sse' ? 'sse' : 'streamableHttp');
    const session = sessions.open(remoteServer(server.url, { transport }));
    expect(await session.text('echo', { message: '1' })).toBe('Echo: 1');
    await server.restart();
    await eventually(() => session.text('echo', { message: '2' }).catch(({ code }) => code)).toBe('Echo: 2');
  },
);

test('a server that wants a completion gets one of the default model, where the settings allow it', async () => {
  await using app = await openTroupe({ script: { text: 'Sampled words.' } });
  await app.configure({
    mcp: { sampling: 'allow', elicitation: 'accept_defaults' },
    preferences: { default_model: DOUBLE_MODEL },
  });
  const server = {
    name: 'everything',
    transport: 'stdio',
    command: process.execPath,
    args: [EVERYTHING, 'stdio'],
  };
  expect(await app.call('POST', '/api/mcp/servers', { name: server.name, config: server })).toMatchObject({
    status: 201,
  });
  expect(await app.call('POST', '/api/mcp/connect', { server: server.name })).toMatchObject({ status: 200 });
  const session = app.troupe.system.named(mcpSession, sessionName(server.name));
  const given = { prompt: 'Say something', maxTokens: 50 };
  const items = [];
  for await (const item of session.stream('call', { tool: 'trigger-sampling-request', arguments: given }))
    items.push(item);
  expect(JSON.stringify(items)).toContain('Sampled words.');
});
