import { expect, test } from 'vitest';
import { toolOutputs } from '../../../src/actors/tool-outputs/protocol.ts';
import { type ToolResult, tools } from '../../../src/actors/tools/protocol.ts';
import { ManualClock } from '../../http/manual-clock.ts';
import { type EdgeActors, openEdgeActors } from '../../support/edge-actors.ts';
import { LONG_RESULT, oddToolsActor } from './odd-tools.ts';

const open = (clock?: ManualClock): Promise<EdgeActors> =>
  openEdgeActors({ toolsActor: oddToolsActor, ...(clock === undefined ? {} : { clock }) });

const call = (actors: EdgeActors, tool: string, durable = true, signal?: AbortSignal): Promise<ToolResult> =>
  actors.ask(
    tools,
    'call',
    {
      tool,
      tool_call_id: 'call_9',
      arguments: {},
      caller: { run_id: 'r', conversation_id: 'c', user_id: 'default', durable },
    },
    { deadlineMs: 60_000, ...(signal === undefined ? {} : { signal }) },
  );

test('a long result is stored, and its key, its beginning and the ways to the rest are answered', async () => {
  const actors = await open();
  const { content, success } = await call(actors, 'long');
  expect(success).toBe(true);
  expect(content.length).toBeLessThan(2_000);
  expect(content).toContain(LONG_RESULT.slice(0, 1_000));
  expect(content).toContain('tool_output_query');
  const key = /long_\d{6}_[0-9a-f]{8}/.exec(content)?.[0] ?? '';
  const stored = await actors.ask(toolOutputs, 'read', { storage_key: key });
  expect(stored).toMatchObject({ tool: 'long', tool_call_id: 'call_9', content: LONG_RESULT });
});

test('in an ephemeral turn a long result is cut, and nothing is stored', async () => {
  const actors = await open();
  const { content } = await call(actors, 'long', false);
  expect(content.length).toBeLessThanOrEqual(12_000);
  expect(content).toMatch(/not kept\]$/);
  expect(await actors.ask(toolOutputs, 'list', {})).toEqual({ outputs: [], count: 0 });
});

test.each([
  ['throws', '{"error":"throws failed: a bug"}'],
  ['rejects', '{"error":"rejects failed: a late bug"}'],
  ['refuses', '{"error":"refuses failed: not today"}'],
  ['says_error', 'Error: nothing there'],
])('%s is an answer without success, and the actor lives on', async (tool, content) => {
  const actors = await open();
  expect(await call(actors, tool)).toMatchObject({ content, success: false });
  expect(await call(actors, tool)).toMatchObject({ success: false });
});

test('a tool that never ends is stopped at its deadline', async () => {
  const clock = new ManualClock();
  const actors = await open(clock);
  const timersBefore = clock.timerCount;
  const pending = call(actors, 'never_ends');
  await expect.poll(() => clock.timerCount).toBeGreaterThan(timersBefore + 1);
  clock.advance(30_000);
  expect(await pending).toEqual({
    content: '{"error":"never_ends was stopped before it was done"}',
    success: false,
    durationMs: 30_000,
  });
});

test('a tool that never ends delays no other, and its caller may leave', async () => {
  const actors = await open();
  const leaving = new AbortController();
  const pending = call(actors, 'never_ends', true, leaving.signal);
  expect(await call(actors, 'says_error')).toMatchObject({ success: false });
  leaving.abort();
  await expect(pending).rejects.toMatchObject({ code: 'ask_cancelled' });
});
