// Servers that fail, hang, shout and lie.

import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { livingInGroup, openMcpSessions, stdioServer } from '../../support/mcp-sessions.ts';

test('a server that answers no handshake is given up in time, and its process ended', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(
    stdioServer(['--hang', '--stubborn'], { timeout: 0.3, auto_reconnect: false }),
  );
  await expect(session.ask('connect', {})).rejects.toMatchObject({
    code: 'mcp_connect_failed',
    message: expect.stringContaining('did not answer in time'),
  });
  await eventually(() => session.heard.states.at(-1)?.kind).toBe('error');
});

test('a server that ends at once is told of with its own last words, secrets masked', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(
    stdioServer(['--exit'], { env: { WORD: 'my settings' }, auto_reconnect: false }),
  );
  await expect(session.ask('connect', {})).rejects.toMatchObject({
    code: 'mcp_connect_failed',
    message: expect.stringMatching(/it exited with 3 \(cannot find \*\*\*\)/),
  });
});

test('a command that is not there is not tried again', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open({ transport: 'stdio', command: 'no-such-command', args: [] });
  await expect(session.ask('connect', {})).rejects.toMatchObject({
    code: 'mcp_config_invalid',
    message: expect.stringContaining('no-such-command was not found'),
  });
  await eventually(() => session.heard.states.map(({ kind }) => kind)).toEqual(['connecting', 'error']);
});

test('a variable that is not set is an error that names it', async () => {
  const sessions = await openMcpSessions();
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as a configuration has it.
  const session = sessions.open(stdioServer([], { env: { TOKEN: '${NO_SUCH_VARIABLE}' } }));
  await expect(session.ask('connect', {})).rejects.toMatchObject({
    code: 'mcp_config_invalid',
    message: 'The variable NO_SUCH_VARIABLE, which the variable TOKEN names, is not set',
  });
});

test('a command and its arguments are no shell text', async () => {
  const sessions = await openMcpSessions();
  const args = [...(stdioServer().args ?? []), '$(exit 7)', '; exit 7', '"', '`exit 7`'];
  const session = sessions.open(stdioServer([], { args }));
  expect(await session.text('echo', { message: 'safe' })).toBe('safe');
});

test('a child knows nothing of our environment but what it needs and what it was given', async () => {
  const sessions = await openMcpSessions();
  process.env['TROUPE_TEST_SECRET'] = 'for nobody';
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as a configuration has it.
  const env = { TOKEN: '$GIVEN', BOTH: 'a${GIVEN}b' };
  const session = sessions.open(stdioServer([], { env }), {
    environment: { GIVEN: 'value', ...process.env },
  });
  const seen = JSON.parse(await session.text('env'));
  delete process.env['TROUPE_TEST_SECRET'];
  expect(seen).toMatchObject({ TOKEN: 'value', BOTH: 'avalueb', PATH: process.env['PATH'] });
  expect(JSON.stringify(seen)).not.toContain('for nobody');
});

test('lines that are no messages are passed over', async () => {
  const sessions = await openMcpSessions();
  expect(await sessions.open(stdioServer(['--noise'])).text('echo', { message: 'still here' })).toBe(
    'still here',
  );
});

test('of a catalogue only what makes sense is taken, and pages without end are left', async () => {
  const sessions = await openMcpSessions();
  const bad = sessions.open(stdioServer(['--bad']));
  await bad.ask('connect', {});
  expect((await bad.ask('catalogue', {})).tools.map(({ name }) => name)).toEqual(['good']);
  const endless = sessions.open(stdioServer(['--endless']));
  await endless.ask('connect', {});
  const { tools, tool_discovery_error } = await endless.ask('catalogue', {});
  expect(tools).toHaveLength(100);
  expect(tool_discovery_error).toBe('More than 100 pages are left out');
});

test('what is too deep for another thread to read is left out', async () => {
  const sessions = await openMcpSessions({ onThread: true });
  const session = sessions.open(stdioServer(['--deep']));
  expect(await session.ask('connect', {})).toMatchObject({ kind: 'connected' });
  const { tools } = await session.ask('catalogue', {});
  expect(tools.map(({ name }) => name)).toContain('echo');
  expect(tools.map(({ name }) => name)).not.toContain('deep');
  const call = (deep: number) => session.call({ tool: 'echo', arguments: { message: 'm', deep } });
  const result = { kind: 'result', content: [{ type: 'text', text: 'm' }], is_error: false };
  expect(await call(1)).toEqual([{ ...result, structured_content: {}, is_cut: false }]);
  expect(await call(3_000)).toEqual([{ ...result, is_cut: true }]);
});

test('a message without end costs its connection, and no more', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open();
  const { pid } = JSON.parse(await session.text('pid'));
  await expect(session.call({ tool: 'huge' })).rejects.toMatchObject({ code: 'mcp_interrupted' });
  expect(await session.text('echo', { message: 'again' })).toBe('again');
  expect(livingInGroup(pid)).toEqual([]);
});

test('a flood of notifications is dropped, and the call that it came with is answered', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open();
  expect(await session.text('flood', { count: 10_000 })).toBe('flooded');
  await eventually(() => session.heard.lines.length).toBeGreaterThan(100);
  expect(session.heard.lines.length).toBeLessThan(1_000);
});

test('a server that does not stop shouting loses its connection', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(stdioServer([], { auto_reconnect: false }));
  await expect(session.call({ tool: 'flood', arguments: { count: 60_000 } })).rejects.toMatchObject({
    code: 'mcp_interrupted',
  });
});

test('what a server logs is told in lines, masked and cut', async () => {
  const sessions = await openMcpSessions();
  const session = sessions.open(stdioServer([], { env: { KEY: 'sesame-open' } }));
  const lines = ['key is sesame-open', 'x'.repeat(20_000), '\u0007{"level":"fatal"}'];
  await session.text('stderr', { lines });
  await session.text('log', { line: 'also sesame-open' });
  await eventually(() => session.heard.lines.length).toBeGreaterThanOrEqual(4);
  expect(session.heard.lines).toEqual(
    expect.arrayContaining([
      { server: 'server-1', level: 'info', source: 'stderr', line: 'key is ***' },
      { server: 'server-1', level: 'info', source: 'stderr', line: 'x'.repeat(2_000) },
      { server: 'server-1', level: 'warn', source: 'l', line: 'also ***' },
    ]),
  );
});
