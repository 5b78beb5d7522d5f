// Troupe as an MCP server over HTTP: the protocol's own client, the whole service, the provider double.

import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { connectMcp, openMcp, REVISIONS } from '../../support/mcp-client.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

let app: TestTroupe;

beforeAll(async () => {
  app = await openTroupe();
  await app.configure({ mcp: { server: { enabled: true } } });
});
beforeEach(() => app.double.answer({ text: 'Hello from the double.' }));
afterAll(() => app.close());

const turnsOf = async (conversationId: string): Promise<readonly string[]> =>
  (await app.messages(conversationId)).map(({ role, content }) => `${role}: ${content}`);
/** Of the newest run. */
const newestRun = async (): Promise<{ readonly run_id: string; readonly status: string }> =>
  (await app.call('GET', '/api/agent/chat/runs?limit=1')).body.runs[0];

describe.each(REVISIONS)('a client of the %s revision', (revision) => {
  test('is told what it can call, and with what', async () => {
    const { client } = await openMcp(app.url, revision);
    expect(client.getServerVersion()).toMatchObject({ name: 'troupe', version: app.troupe.version });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'list_agents',
      'run_agent',
      'read_run',
      'cancel_run',
      'recall',
      'list_projects',
      'search_projects',
    ]);
    expect(tools[1]).toMatchObject({
      inputSchema: { type: 'object', required: ['message'] },
      outputSchema: { type: 'object' },
      annotations: { readOnlyHint: false, openWorldHint: true },
    });
  });

  test('recalls what was said in past conversations', async () => {
    const { tool } = await openMcp(app.url, revision);
    const asked = await tool('run_agent', { message: `What do ocelots eat, in ${revision}?` });
    const { data, text } = await tool('recall', { topic: 'ocelots', limit: 20 });
    const { conversation_id } = asked.data;
    expect(data.turns).toContainEqual(
      expect.objectContaining({
        conversation_id,
        role: 'user',
        text: `What do ocelots eat, in ${revision}?`,
      }),
    );
    expect(text).toContain('What do ocelots eat');
    expect(await tool('recall', { topic: 'xylophonist' })).toMatchObject({
      text: 'Nothing was found.',
      data: { turns: [] },
    });
  });

  test('runs an agent, in a conversation that goes on', async () => {
    const { tool } = await openMcp(app.url, revision);
    const first = await tool('run_agent', { message: 'Who are you?' });
    expect(first).toMatchObject({ text: 'Hello from the double.', isError: false });
    expect(first.data).toMatchObject({ status: 'done', answer: 'Hello from the double.', error: null });
    expect(await app.listed(first.data.run_id)).toMatchObject({ status: 'done' });

    app.double.answer({ text: 'Still me.' });
    const { conversation_id } = first.data;
    const second = await tool('run_agent', { message: 'And now?', agent: 'default', conversation_id });
    expect(second.data).toMatchObject({ conversation_id, answer: 'Still me.' });
    expect(await turnsOf(conversation_id)).toEqual([
      'user: Who are you?',
      'assistant: Hello from the double.',
      'user: And now?',
      'assistant: Still me.',
    ]);
  });

  test('hears how far the run is, if it asks', async () => {
    app.double.answer([
      { toolCalls: [{ name: 'recall_user_history', arguments: { topic: 'tea' } }] },
      { text: 'Tea.' },
    ]);
    const { tool } = await openMcp(app.url, revision);
    const heard: { readonly progress: number; readonly message?: string | undefined }[] = [];
    await tool('run_agent', { message: 'What do I drink?' }, { onprogress: (news) => heard.push(news) });
    expect(heard[0]?.message).toMatch(/^Run [0-9a-f]{16} was accepted$/);
    expect(heard.map(({ progress }) => progress)).toEqual(heard.map((_, index) => index + 1));
  });

  test('reads the result of a run again, by its id', async () => {
    const { tool } = await openMcp(app.url, revision);
    const { data } = await tool('run_agent', { message: 'Hello' });
    const again = await tool('read_run', { run_id: data.run_id });
    expect(again).toMatchObject({ text: 'Hello from the double.', data, isError: false });
  });

  test('need not wait for a run, and may end it', async () => {
    app.double.answer({ fault: { kind: 'silence' } });
    const { tool } = await openMcp(app.url, revision);
    const left = await tool('run_agent', { message: 'Think hard', wait_seconds: 0 });
    expect(left).toMatchObject({ text: 'The run is still running.', isError: false });
    expect(left.data).toMatchObject({ status: 'running', answer: null });
    const { run_id } = left.data;
    expect((await tool('cancel_run', { run_id })).data).toMatchObject({ run_id, cancel_requested: true });
    const ended = await tool('read_run', { run_id, wait_seconds: 60 });
    expect(ended).toMatchObject({ isError: true, data: { status: 'cancelled' } });
  });

  test('cancels the run with its call', async () => {
    app.double.answer({ fault: { kind: 'silence' } });
    const { tool } = await openMcp(app.url, revision);
    const call = new AbortController();
    const message = `Never mind, ${revision}`;
    const called = tool('run_agent', { message }, { signal: call.signal });
    await expect(abortedBy(call, message, called)).rejects.toThrow();
    await eventually(async () => (await newestRun()).status).toBe('cancelled');
  });

  test('leaves the run alone when it cancels a call that says so', async () => {
    const left = Promise.withResolvers<void>();
    app.double.answer(async () => {
      await left.promise;
      return { text: 'Done anyway.' };
    });
    const { tool } = await openMcp(app.url, revision);
    const call = new AbortController();
    const message = `Take your time, ${revision}`;
    const called = tool('run_agent', { message, on_cancel: 'detach' }, { signal: call.signal });
    await expect(abortedBy(call, message, called)).rejects.toThrow();
    left.resolve();
    const { run_id } = await newestRun();
    expect((await tool('read_run', { run_id, wait_seconds: 60 })).data).toMatchObject({
      status: 'done',
      answer: 'Done anyway.',
    });
  });

  test('hears in a sentence what went wrong', async () => {
    const { client, tool } = await openMcp(app.url, revision);
    expect(await tool('run_agent', {})).toMatchObject({ isError: true, text: /message/ });
    expect(await tool('run_agent', { message: 'Hi', agent: 'nobody' })).toMatchObject({
      isError: true,
      text: 'There is no agent nobody: list_agents says which there are',
    });
    expect(await tool('read_run', { run_id: 'unheard-of' })).toMatchObject({
      isError: true,
      text: 'Unknown run',
    });
    app.double.answer({ fault: { kind: 'status', status: 400, message: 'no such thing' } });
    const failed = await tool('run_agent', { message: 'Hi' });
    expect(failed).toMatchObject({ isError: true, data: { status: 'failed', answer: null } });
    expect(failed.data.error).toContain('no such thing');
    await expect(client.callTool({ name: 'unheard_of', arguments: {} })).rejects.toThrow('Unknown tool');
  });

  /** Gives the call up when the model was asked: this question, as others may still be on their way. */
  async function abortedBy<T>(call: AbortController, message: string, called: Promise<T>): Promise<T> {
    const isAsked = () =>
      app.double.requests.some(({ body }) => body.messages?.some(({ content }) => content === message));
    void eventually(isAsked)
      .toBe(true)
      .then(() => call.abort());
    return called;
  }
});

describe('the end of a connection', () => {
  test('is a cancel without a session, and none with one', async () => {
    for (const [revision, status] of [
      ['2026', 'cancelled'],
      ['2025', 'running'],
    ] as const) {
      app.double.answer({ fault: { kind: 'silence' } });
      const { client, tool } = await openMcp(app.url, revision);
      const before = app.double.requestCount;
      const called = tool('run_agent', { message: 'Wait for me' }).catch(() => 'gone');
      await app.double.received(before);
      const { run_id } = await newestRun();
      await client.close();
      await called;
      await eventually(async () => (await app.listed(run_id))?.status).toBe(status);
      await app.cancel(run_id);
    }
  });
});

describe('a session', () => {
  test('ends when its client says so', async () => {
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', app.url));
    const { client } = await connectMcp(transport);
    const { sessionId } = transport;
    expect(sessionId).toMatch(/^[0-9a-f]{32}$/);
    await client.ping();
    await transport.terminateSession();
    const { status, body } = await post(
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { 'mcp-session-id': `${sessionId}` },
    );
    expect([status, body.error.message]).toEqual([404, 'Session not found']);
  });

  test('gives the answer of a call whose connection broke to whoever comes back for it', async () => {
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', app.url));
    await connectMcp(transport);
    const session = { 'mcp-session-id': `${transport.sessionId}`, 'mcp-protocol-version': '2025-11-25' };
    // Not by a stall: whoever lifts one lifts all that are to come.
    const left = Promise.withResolvers<void>();
    app.double.answer(async () => {
      await left.promise;
      return { text: 'Here I am.' };
    });
    const before = app.double.requestCount;
    const leaving = new AbortController();
    const params = { name: 'run_agent', arguments: { message: 'Wait' } };
    const response = await send(
      { jsonrpc: '2.0', id: 7, method: 'tools/call', params },
      session,
      leaving.signal,
    );
    const primed = await firstEvent(response);
    await app.double.received(before);
    leaving.abort();
    left.resolve();
    const resume = (): Promise<Response> =>
      fetch(`${app.url}/mcp`, {
        headers: { ...session, accept: 'text/event-stream', 'last-event-id': primed.id },
      });
    // Until the service has noticed that the connection is gone, the stream is still taken.
    let resumed = await resume();
    await eventually(async () => {
      if (resumed.status === 409) resumed = await resume();
      return resumed.status;
    }).toBe(200);
    const { id, result } = JSON.parse((await firstEvent(resumed)).data);
    expect([id, result.structuredContent.answer]).toEqual([7, 'Here I am.']);
  });

  test('that nobody opened is not found, and a request without one is refused', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await post(ping, { 'mcp-session-id': '0'.repeat(32) })).status).toBe(404);
    expect((await post(ping)).status).toBe(400);
  });
});

describe('the endpoint', () => {
  test('is not there while it is switched off', async () => {
    await app.configure({ mcp: { server: { enabled: false } } });
    try {
      for (const method of ['POST', 'GET', 'DELETE']) {
        const { status, body } = await app.call(method, '/mcp', method === 'POST' ? {} : undefined);
        expect([method, status]).toEqual([method, 404]);
        expect(body).toMatchObject({ jsonrpc: '2.0', error: { message: /mcp\.server\.enabled/ }, id: null });
      }
    } finally {
      await app.configure({ mcp: { server: { enabled: true } } });
    }
  });

  test('has no stream of its own', async () => {
    const { status, headers } = await app.call('GET', '/mcp');
    expect([status, headers.get('allow')]).toEqual([405, 'POST, DELETE']);
  });

  test('refuses pages of strangers, and what is too large or no JSON, in its own words', async () => {
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    expect((await post(ping, { origin: 'https://elsewhere.example' })).status).toBe(403);
    expect((await post(ping, { origin: 'tauri://localhost' })).status).toBe(400);
    expect((await post('x'.repeat(9 * 1024 * 1024))).status).toBe(413);
    expect(await postText('{nonsense')).toMatchObject({
      status: 400,
      body: { jsonrpc: '2.0', error: { message: /Invalid JSON/ } },
    });
  });

  test('is described with the rest of the API', async () => {
    const { body } = await app.call('GET', '/api/openapi.json');
    expect(Object.keys(body.paths['/mcp'])).toEqual(['post', 'delete', 'get']);
  });
});

test('a stop of the service ends its calls, and cancels no run', async () => {
  app.double.answer({ fault: { kind: 'silence' } });
  const before = app.double.requestCount;
  const clients = await Promise.all(REVISIONS.map((revision) => openMcp(app.url, revision)));
  const called = clients.map(({ tool }) => tool('run_agent', { message: 'Wait for me' }).catch(() => 'gone'));
  await app.double.received(before + clients.length - 1);
  const { body } = await app.call('GET', '/api/agent/chat/runs?limit=2');
  await app.restart();
  await Promise.all(called);
  for (const { run_id } of body.runs) expect((await app.listed(run_id))?.status).toBe('running');
  app.double.release();
});

const post = (message: unknown, headers: Readonly<Record<string, string>> = {}) =>
  postText(JSON.stringify(message), headers);

async function postText(body: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await sendText(body, headers);
  return { status: response.status, body: JSON.parse(await response.text()) };
}

const send = (message: unknown, headers: Readonly<Record<string, string>>, signal: AbortSignal) =>
  sendText(JSON.stringify(message), headers, signal);

function sendText(
  body: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${app.url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
    signal,
  });
}

/** The first event of a stream; the stream stays open. */
async function firstEvent(response: Response): Promise<{ readonly id: string; readonly data: string }> {
  const reader = (response.body as ReadableStream<Uint8Array>)
    .pipeThrough(new TextDecoderStream())
    .getReader();
  let text = '';
  while (!text.includes('\n\n')) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended: ${text}`);
    text += value;
  }
  reader.releaseLock();
  const field = (name: string): string => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1] ?? '';
  return { id: field('id'), data: field('data') };
}
