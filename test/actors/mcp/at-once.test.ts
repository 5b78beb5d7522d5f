// Several clients change the same server at the same time: it comes out as if one had been after the other.

import { afterAll, expect, test } from 'vitest';
import { mcp } from '../../../src/actors/mcp/protocol.ts';
import type { CallsOf, ReplyFrom, RequestTo } from '../../../src/supervisor/protocol.ts';
import { ownServer } from '../../support/mcp-configs.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

/** The reply, or the code of the fault. Those that are asked without a wait in between lie in the mailbox together. */
const ask = <Name extends CallsOf<typeof mcp>>(
  name: Name,
  message: RequestTo<typeof mcp, Name>,
): Promise<ReplyFrom<typeof mcp, Name> | string> =>
  app.troupe.system
    .named(mcp)
    .ask(name, message, { deadlineMs: 60_000 })
    .catch(({ code }) => code);

const add = (name: string, config: object = { command: 'x' }) => ask('add', { name, config: { ...config } });

test('a server that is deleted while it is being connected leaves no session behind', async () => {
  await add('short', ownServer());
  const [, removed] = await Promise.all([
    ask('connect', { server: 'short' }),
    ask('remove', { name: 'short' }),
  ]);
  expect(removed).toMatchObject({ status: 'deleted' });
  await add('short', ownServer());
  expect(await ask('disconnect', { server: 'short' })).toBe('mcp_not_connected');
});

test('a server that is changed while it is being connected is not connected as it was', async () => {
  await add('changing', ownServer());
  const [, replaced] = await Promise.all([
    ask('connect', { server: 'changing' }),
    ask('replace', { name: 'changing', config: { command: '/no/such/program' } }),
  ]);
  expect(replaced).toMatchObject({ status: 'updated' });
  expect(await ask('disconnect', { server: 'changing' })).toBe('mcp_not_connected');
});

test('a server that is renamed while it is being connected leaves no session behind under its old name', async () => {
  await add('before', ownServer());
  const [, replaced] = await Promise.all([
    ask('connect', { server: 'before' }),
    ask('replace', { name: 'before', rename: 'after' }),
  ]);
  expect(replaced).toMatchObject({ status: 'updated' });
  await add('before', ownServer());
  expect(await ask('disconnect', { server: 'before' })).toBe('mcp_not_connected');
});

test('a change, a disconnect and a deletion at once take nothing of each other back', async () => {
  await add('changed', { command: 'x', auto_connect: true });
  await add('deleted', { command: 'x', auto_connect: true });
  await Promise.all([
    ask('replace', { name: 'changed', config: { command: 'y' } }),
    ask('disconnect', { server: 'changed' }),
    ask('remove', { name: 'deleted' }),
    ask('disconnect', { server: 'deleted' }),
    ask('replace', { name: 'deleted', config: { command: 'y' } }),
  ]);
  for (const isAgain of [false, true]) {
    if (isAgain) await app.restart();
    expect(await ask('server', { name: 'changed' })).toMatchObject({ command: 'y', auto_connect: false });
    expect(await ask('server', { name: 'deleted' })).toBe('mcp_server_not_found');
  }
});

test('a server that gets two names at once has one of them', async () => {
  await add('one', { command: 'x' });
  const replies = await Promise.all(
    ['two', 'three'].map((rename) => ask('replace', { name: 'one', rename })),
  );
  expect(replies).toEqual([expect.objectContaining({ status: 'updated' }), 'mcp_server_not_found']);
  expect(await ask('server', { name: 'three' })).toBe('mcp_server_not_found');
});
