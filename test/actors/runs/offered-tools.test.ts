import { afterAll, expect, test } from 'vitest';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ service: { runHosts: 1 } });
afterAll(() => app.close());

/** The tools of the latest request to the model. */
function offered(): string[] {
  const tools = app.double.requests.at(-1)?.body.tools as { function: { name: string } }[] | undefined;
  return (tools ?? []).map((tool) => tool.function.name);
}

test('a thread that has the list of tools offers it again, and another one as soon as it has changed', async () => {
  await app.turn('one');
  const first = offered();
  expect(first).toContain('update_conversation_state');
  await app.turn('two');
  expect(offered()).toEqual(first);
  await app.configure({ context: { conversation_state_enabled: false } });
  await app.turn('three');
  expect(offered()).toEqual(first.filter((name) => name !== 'update_conversation_state'));
  await app.turn('four', { use_memory: false });
  expect(offered()).not.toContain('checkpoint');
  await app.turn('five');
  expect(offered()).toContain('checkpoint');
});
