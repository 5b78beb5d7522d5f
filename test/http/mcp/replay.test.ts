import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { expect, test } from 'vitest';
import { Replay } from '../../../src/http/mcp/replay.ts';

const progress = (n: number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: 1, progress: n },
});
const answer = (id: number, text = 'done'): JSONRPCMessage => ({ jsonrpc: '2.0', id, result: { text } });

async function replayed(replay: Replay, after: string): Promise<readonly JSONRPCMessage[]> {
  const heard: JSONRPCMessage[] = [];
  await replay.replayEventsAfter(after, {
    send: async (_id, message) => {
      heard.push(message);
    },
  });
  return heard;
}

test('whoever comes back hears what came after, of its own stream alone', async () => {
  const replay = new Replay();
  const first = await replay.storeEvent('a', progress(1));
  await replay.storeEvent('b', answer(9));
  const last = await replay.storeEvent('a', answer(1));
  expect(await replayed(replay, first)).toEqual([answer(1)]);
  expect(await replayed(replay, last)).toEqual([]);
  expect(await replay.getStreamIdForEventId(first)).toBe('a');
});

test('of progress only the newest is kept', async () => {
  const replay = new Replay();
  const first = await replay.storeEvent('a', progress(1));
  for (let n = 2; n <= 500; n += 1) await replay.storeEvent('a', progress(n));
  expect(await replayed(replay, first)).toEqual([progress(500)]);
});

test('what is old, or too large, is not kept', async () => {
  const replay = new Replay();
  const first = await replay.storeEvent('a', progress(1));
  await replay.storeEvent('a', answer(1));
  for (let n = 0; n < 40; n += 1) await replay.storeEvent('b', answer(n, 'x'.repeat(20_000)));
  expect(await replayed(replay, first)).toEqual([]);
  const other = await replay.storeEvent('c', progress(1));
  await replay.storeEvent('c', answer(2, 'x'.repeat(300_000)));
  expect(await replayed(replay, other)).toEqual([]);
});

test('what is no id of ours finds nothing', async () => {
  const replay = new Replay();
  expect(await replay.getStreamIdForEventId('nonsense')).toBeUndefined();
  expect(await replayed(replay, 'nonsense')).toEqual([]);
});
