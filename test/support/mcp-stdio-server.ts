// An MCP server over stdio that does what it is told, by its arguments and by its tools, also what no server should do. Without
// the SDK, which would not let it; and it starts in no time.
//   --hang: answers no initialize.   --stubborn: outlives the end of its input and SIGTERM.   --grandchild: starts a process.
//   --exit: ends at once.            --noise: writes lines that are no messages.              --bad: lists what makes no sense.
//   --endless: lists pages without end.   --runaway: starts a process that leaves the group.
//   --deep: has a tool whose schema is very deep.
//   --late: has one more tool, and says so, when its tools have been listed and its resources are not yet.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

// biome-ignore lint/suspicious/noExplicitAny: what is asked for is known by its method only.
type Members = Record<string, any>;
type Message = { id?: number | string; method?: string; params?: Members };

const flags = new Set(process.argv.slice(2));
const cancelled: unknown[] = [];
const extra = { tools: 0, resources: 0, prompts: 0 };
let listed = 0;
/** So many lists of tools are not answered. */
let unanswered = 0;
/** How long each page of an endless list takes; without it there is but one page. */
let pageMs: number | null = flags.has('--endless') ? 0 : null;
let running = 0;
let runningMost = 0;
/** Resolves when one more call is running. */
let oneMore = Promise.withResolvers<void>();

/** A worker can send it, and the main thread cannot read it. */
const DEEP = 3_000;

const tool = (name: string) => ({ name, description: `does ${name}`, inputSchema: { type: 'object' } });
const TOOLS = [
  'cancelled',
  'crash',
  'echo',
  'env',
  'error',
  'fail',
  'flood',
  'grow',
  'hang',
  'huge',
  'last-words',
  'listed',
  'log',
  'measure',
  'media',
  'pid',
  'progress',
  'stderr',
].map(tool);

if (flags.has('--exit')) {
  process.stderr.write('cannot find my settings\n');
  process.exit(3);
}
if (flags.has('--stubborn')) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1_000);
}
const STAY = ['-c', "trap '' TERM HUP; while :; do sleep 1; done"];
const grandchild = flags.has('--grandchild') ? spawn('/bin/sh', STAY, { stdio: 'ignore' }) : null;
const runaway = flags.has('--runaway') ? spawn('/bin/sh', STAY, { stdio: 'ignore', detached: true }) : null;
if (flags.has('--noise')) process.stdout.write('Welcome!\n{"not": "a message"}\n\n');

function send(message: object): void {
  process.stdout.write(lineOf(message));
}

function lineOf(message: object): string {
  return `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
}

/** Says it in one piece: however slow this process is, nobody hears a part of it first. */
function grow(list: keyof typeof extra, times: number): void {
  extra[list] += 1;
  process.stdout.write(lineOf({ method: `notifications/${list}/list_changed` }).repeat(times));
}

function extras<Entry>(list: keyof typeof extra, entryOf: (name: string) => Entry): Entry[] {
  return Array.from({ length: extra[list] }, (_, i) => entryOf(`extra-${i + 1}`));
}

function nested(depth: number): object | undefined {
  let value: object | undefined;
  for (let i = 0; i < depth; i += 1) value = { a: value };
  return value;
}

const text = (value: unknown) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

async function call(id: Message['id'], name: string, given: Members, token: unknown): Promise<object | null> {
  switch (name) {
    case 'echo':
      return { ...text(given['message'] ?? ''), structuredContent: nested(given['deep'] ?? 0) };
    case 'pid':
      return text({ pid: process.pid, grandchild: grandchild?.pid ?? null, runaway: runaway?.pid ?? null });
    case 'env':
      return text({ ...process.env });
    case 'hang':
      return null;
    case 'crash':
      return process.exit(9);
    case 'last-words':
      send({ id, result: text('goodbye') });
      return process.exit(0);
    case 'error':
      send({ id, error: { code: -32_000, message: 'no such luck' } });
      return null;
    case 'fail':
      return { ...text('it did not work'), isError: true };
    case 'cancelled':
      return text(cancelled);
    case 'listed':
      return text({ listed });
    case 'grow':
      unanswered = given['unanswered'] ?? 0;
      pageMs = given['pageMs'] ?? pageMs;
      grow(given['list'] ?? 'tools', 20);
      if (given['everyMs'] !== undefined) {
        setInterval(() => send({ method: 'notifications/tools/list_changed' }), given['everyMs']);
      }
      return text('grown');
    case 'log':
      send({
        method: 'notifications/message',
        params: { level: 'warning', logger: 'l', data: given['line'] },
      });
      return text('logged');
    case 'stderr':
      for (const line of given['lines']) process.stderr.write(`${line}\n`);
      return text('written');
    case 'flood':
      for (let i = 0; i < given['count']; i += 1) {
        send({ method: 'notifications/message', params: { level: 'info', data: `line ${i}` } });
      }
      return text('flooded');
    case 'huge':
      process.stdout.write(`"${'x'.repeat(17 * 1024 * 1024)}"\n`);
      return null;
    case 'media':
      return {
        content: [
          { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
          { type: 'image', data: '<script>', mimeType: 'image/png' },
          { type: 'audio', data: 'aGVsbG8=', mimeType: 'audio/wav' },
          { type: 'resource', resource: { uri: 'a://b', text: 'inside' } },
          { type: 'resource_link', uri: 'a://c', name: 'c' },
          { type: 'surprise' },
        ],
        structuredContent: { a: 1 },
      };
    case 'progress':
      for (let i = 1; i <= given['steps']; i += 1) {
        await new Promise((resolve) => setTimeout(resolve, given['everyMs']));
        send({
          method: 'notifications/progress',
          params: { progressToken: token, progress: i, total: given['steps'] },
        });
      }
      return text('done');
    case 'measure':
      running += 1;
      runningMost = Math.max(runningMost, running);
      oneMore.resolve();
      oneMore = Promise.withResolvers();
      while (running < (given['together'] ?? 1)) await oneMore.promise;
      await new Promise((resolve) => setTimeout(resolve, given['ms']));
      running -= 1;
      return text({ runningMost });
    default:
      send({ id, error: { code: -32_602, message: `unknown tool ${name}` } });
      return null;
  }
}

async function toolsPage(params: Members): Promise<object | null> {
  listed += 1;
  if (unanswered > 0) {
    unanswered -= 1;
    return null;
  }
  if (pageMs !== null) {
    await new Promise((resolve) => setTimeout(resolve, pageMs ?? 0));
    const page = Number(params['cursor'] ?? 0);
    return { tools: [tool(`t${page}`)], nextCursor: String(page + 1) };
  }
  if (flags.has('--bad')) {
    return {
      tools: [
        null,
        7,
        { name: 'x' },
        { name: '', inputSchema: {} },
        tool('good'),
        tool('good'),
        tool('n'.repeat(500)),
      ],
    };
  }
  const deep = { ...tool('deep'), inputSchema: { type: 'object', properties: nested(DEEP) } };
  return { tools: [...TOOLS, ...(flags.has('--deep') ? [deep] : []), ...extras('tools', tool)] };
}

async function answer({ id, method, params = {} }: Message): Promise<object | null> {
  switch (method) {
    case 'initialize':
      if (flags.has('--hang')) return null;
      return {
        protocolVersion: params['protocolVersion'],
        capabilities: { tools: { listChanged: true }, resources: {}, prompts: {}, logging: {} },
        serverInfo: { name: 'test-server', version: '1.2.3' },
        instructions: 'Be kind.',
      };
    case 'ping':
    case 'logging/setLevel':
      return {};
    case 'tools/list':
      return toolsPage(params);
    case 'tools/call':
      return call(id, params['name'], params['arguments'] ?? {}, params['_meta']?.progressToken);
    case 'resources/list': {
      if (flags.has('--late') && extra.tools === 0) {
        grow('tools', 1);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      const note = { uri: 'note://1', name: 'one', mimeType: 'text/plain' };
      return { resources: [note, ...extras('resources', (name) => ({ uri: `note://${name}`, name }))] };
    }
    case 'resources/templates/list':
      return {
        resourceTemplates: extras('resources', (name) => ({ uriTemplate: `note://${name}/{id}`, name })),
      };
    case 'resources/read':
      return { contents: [{ uri: params['uri'], text: `text of ${params['uri']}` }] };
    case 'prompts/list':
      return {
        prompts: [
          { name: 'greet', arguments: [{ name: 'who', required: true }] },
          ...extras('prompts', (name) => ({ name })),
        ],
      };
    case 'prompts/get':
      return {
        messages: [{ role: 'user', content: { type: 'text', text: `Greet ${params['arguments']?.who}` } }],
      };
    case 'notifications/cancelled':
      cancelled.push(params['requestId']);
      return null;
    default:
      if (id !== undefined) send({ id, error: { code: -32_601, message: 'Method not found' } });
      return null;
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const message = JSON.parse(line) as Message;
  void answer(message).then((result) => {
    if (result !== null && message.id !== undefined) send({ id: message.id, result });
  });
});
lines.on('close', () => {
  if (!flags.has('--stubborn')) process.exit(0);
});
