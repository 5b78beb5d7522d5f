import { expect, test } from 'vitest';
import { nameError, readServerConfig } from '../../../src/actors/mcp/server-config.ts';
import { UNSAID } from '../../support/mcp-configs.ts';

const errorsOf = (given: unknown): readonly string[] => {
  const read = readServerConfig(given);
  return read.ok ? [] : read.errors;
};

test('what is left out, or null, has its default, and what nobody knows is dropped', () => {
  const read = readServerConfig({ command: 'node', url: null, tools: ['echo'], status: 'connected' });
  expect(read).toEqual({ ok: true, config: { ...UNSAID, command: 'node' } });
});

test('a server with an address and no transport is reached by streamable HTTP', () => {
  expect(readServerConfig({ url: 'https://tools.example/mcp' })).toMatchObject({
    ok: true,
    config: { transport: 'streamable_http' },
  });
});

test('variables are kept as they are written', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is what a person writes.
  const given = { command: 'x', env: { TOKEN: '${TOKEN}', HOME: '$HOME' } };
  expect(readServerConfig(given)).toMatchObject({ ok: true, config: given });
});

test.each([
  ['nothing', undefined, ['config must be an object']],
  ['a list', [], ['config must be an object']],
  ['stdio without a command', { transport: 'stdio' }, ['command is required for stdio']],
  ['stdio with a blank command', { transport: 'stdio', command: ' ' }, ['command is required for stdio']],
  ['sse without an address', { transport: 'sse' }, ['url is required for sse']],
  [
    'a file as address',
    { transport: 'sse', url: 'file:///etc/passwd' },
    ['url must be a http or https address'],
  ],
  [
    'an http address for websocket',
    { transport: 'websocket', url: 'http://x' },
    ['url must be a ws or wss address'],
  ],
  [
    'credentials in the address',
    { transport: 'streamable_http', url: 'https://me:secret@x.example/' },
    ['url must not hold credentials: headers are the place for them'],
  ],
  [
    'another sign-in',
    { transport: 'sse', url: 'https://x', auth: { type: 'basic' } },
    ['auth.type must be oauth'],
  ],
  [
    'a sign-in for a process',
    { command: 'x', auth: { type: 'oauth' } },
    ['auth is for sse and streamable_http, not for stdio'],
  ],
  [
    'several mistakes',
    { transport: 'stdio', auth: {} },
    [
      'command is required for stdio',
      'auth.type must be oauth',
      'auth is for sse and streamable_http, not for stdio',
    ],
  ],
])('%s is refused, in words', (_what, given, expected) => {
  expect(errorsOf(given)).toEqual(expected);
});

test.each([
  ['transport', { transport: 'carrier-pigeon', command: 'x' }],
  ['args[1]', { command: 'x', args: ['a', {}] }],
  ['env', { command: 'x', env: { 'A B': 'c' } }],
  ['headers', { url: 'https://x', headers: { 'X-A': 'one\r\ntwo' } }],
  ['timeout', { command: 'x', timeout: 0 }],
  ['timeout', { command: 'x', timeout: 1e9 }],
  ['auto_connect', { command: 'x', auto_connect: 'perhaps' }],
  ['tags', { command: 'x', tags: Array.from({ length: 1_000 }, () => 'a') }],
])('a bad %s is named', (member, given) => {
  expect(errorsOf(given).join('; ')).toContain(member.split('[')[0]);
});

test('a name is one that can stand in a path and before a dot', () => {
  for (const name of ['files', 'My Server 2', 'a.b_c-d', '3d', 'x'.repeat(64)]) {
    expect(nameError(name), name).toBeNull();
  }
  for (const name of ['', ' x', 'x ', 'a/b', '_internal', '-x', 'é', 'x'.repeat(65), null, 7]) {
    expect(nameError(name), String(name)).toEqual(expect.any(String));
  }
});
