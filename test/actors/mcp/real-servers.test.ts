// Servers that we did not write, from the API inwards: configured, connected and listed over HTTP, called by an agent in a turn.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { connectServer } from '../../support/mcp-configs.ts';
import { EVERYTHING, startEverything } from '../../support/mcp-everything.ts';
import { callMessage, obedient } from '../../support/obedient-model.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { openTroupe } from '../../support/troupe.ts';

const FILESYSTEM = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-filesystem/dist/index.js', import.meta.url),
);
/** On a machine with other things to do; each test is a handful of turns and processes. */
const PATIENCE_MS = 120_000;
const OFFERED_LATER = 'trigger-elicitation-request';

const app = await openTroupe({ script: obedient, service: { runHosts: 1 } });
afterAll(() => app.close());

async function toolsOf(server: string): Promise<readonly string[]> {
  const { body } = await app.call('GET', `/api/mcp/tools?server=${server}`);
  return body.tools.map(({ name }: { readonly name: string }) => name);
}

/** A turn in which the agent calls the tool: what came of it, and all that was said. */
async function called(server: string, tool: string, given: Readonly<Record<string, unknown>> = {}) {
  const { events } = await app.turn(callMessage({ server, tool, arguments: given }));
  const result = events.find(({ event }) => event === 'tool_result')?.data;
  /** Whole, as the model read it; the event has its beginning. */
  const messages = app.double.requests.at(-1)?.body.messages ?? [];
  const read = messages.findLast(({ role }) => role === 'tool')?.content;
  return { result, events, read: String(read) };
}

async function connectEverything(name: string, transport: 'stdio' | 'sse' | 'streamable_http') {
  if (transport === 'stdio') {
    await connectServer(app, name, { transport, command: process.execPath, args: [EVERYTHING, 'stdio'] });
    return null;
  }
  const server = await startEverything(transport === 'sse' ? 'sse' : 'streamableHttp');
  await connectServer(app, name, { transport, url: server.url });
  return server;
}

function forgetAfterwards(name: string): void {
  onTestFinished(async () => {
    await app.call('DELETE', `/api/mcp/servers/${name}`);
  });
}

test.each(['stdio', 'sse', 'streamable_http'] as const)(
  'an agent works with the reference server over %s',
  async (transport) => {
    const name = `everything-${transport}`;
    forgetAfterwards(name);
    await connectEverything(name, transport);
    expect(await toolsOf(name)).toEqual(expect.arrayContaining(['echo', 'get-sum', 'get-tiny-image']));
    // It offers more once it knows its client, and says so.
    await eventually(() => toolsOf(name)).toContain(OFFERED_LATER);
    const { body } = await app.call('GET', `/api/mcp/resources?server=${name}`);
    expect(body.count).toBeGreaterThan(0);

    expect((await called(name, 'echo', { message: 'hello' })).result).toMatchObject({
      tool: `${name}.echo`,
      content: 'Echo: hello',
      success: true,
    });
    expect((await called(name, 'get-sum', { a: 2, b: 40 })).read).toContain('42');
    const wrong = await called(name, 'get-sum', { a: 'two' });
    expect(wrong.result.success).toBe(false);

    const structured = await called(name, 'get-structured-content', { location: 'Chicago' });
    expect(JSON.parse(structured.read)).toMatchObject({ temperature: 36 });

    const picture = await called(name, 'get-tiny-image');
    expect(picture.read).toMatch(/image/);
    expect(picture.read).not.toContain('iVBORw0KGgo');

    const slow = await called(name, 'trigger-long-running-operation', { duration: 1.2, steps: 3 });
    expect(slow.result.success).toBe(true);
    const progress = slow.events.filter(({ event, data }) => event === 'status' && data.progress != null);
    expect(progress.length).toBeGreaterThan(0);

    // Nobody sits there to be asked.
    expect((await called(name, OFFERED_LATER)).read).toMatch(/decline/i);
  },
  PATIENCE_MS,
);

test(
  'a cancel ends a call that a server would take a minute for, and the server goes on',
  async () => {
    const name = 'slow';
    forgetAfterwards(name);
    await connectEverything(name, 'stdio');
    const order = { duration: 60, steps: 600 };
    const { runId, reader } = await app.start(
      callMessage({ server: name, tool: 'trigger-long-running-operation', arguments: order }),
    );
    await reader.until('status', ({ progress }) => progress != null);
    await app.cancel(runId);
    expect((await reader.rest()).at(-1)?.event).toBe('close');
    expect((await called(name, 'echo', { message: 'still here' })).read).toBe('Echo: still here');
  },
  PATIENCE_MS,
);

test.each(['sse', 'streamable_http'] as const)(
  'an agent finds a server again that was killed and came back, over %s',
  async (transport) => {
    const name = `back-${transport}`;
    forgetAfterwards(name);
    const server = await connectEverything(name, transport);
    expect((await called(name, 'echo', { message: 'one' })).read).toBe('Echo: one');
    await server?.restart();
    await eventually(async () => (await called(name, 'echo', { message: 'two' })).read).toBe('Echo: two');
  },
  PATIENCE_MS,
);

test(
  'an agent reads and writes files through the filesystem server, and nowhere else',
  async () => {
    const name = 'files';
    forgetAfterwards(name);
    await using folder = await temporaryFolder();
    const at = (file: string): string => join(folder.directory, file);
    await writeFile(at('long.txt'), 'a line of text\n'.repeat(4_000));
    await connectServer(app, name, {
      transport: 'stdio',
      command: process.execPath,
      args: [FILESYSTEM, folder.directory],
    });
    expect(await toolsOf(name)).toEqual(expect.arrayContaining(['read_text_file', 'write_file']));

    await called(name, 'write_file', { path: at('note.txt'), content: 'from the agent' });
    expect(await readFile(at('note.txt'), 'utf8')).toBe('from the agent');
    expect((await called(name, 'read_text_file', { path: at('note.txt') })).read).toContain('from the agent');
    expect((await called(name, 'list_directory', { path: folder.directory })).read).toContain('long.txt');

    const long = await called(name, 'read_text_file', { path: at('long.txt') });
    const key = /stored for an hour as (\S+)\./.exec(long.read)?.[1];
    const stored = await app.call('GET', `/api/tool-outputs/${key}`);
    expect(stored.body.content.length).toBeGreaterThanOrEqual(60_000);

    const elsewhere = await called(name, 'read_text_file', { path: '/etc/hostname' });
    expect(elsewhere.result.success).toBe(false);
    expect(elsewhere.read).toMatch(/denied/i);
  },
  PATIENCE_MS,
);
