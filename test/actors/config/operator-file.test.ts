import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readOperatorFile } from '../../../src/actors/config/operator-file.ts';
import { config } from '../../../src/actors/config/protocol.ts';
import { openEdgeActors } from '../../support/edge-actors.ts';

async function fileWith(text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'operator-file-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, 'settings.json');
  await writeFile(path, text);
  return path;
}

test('what the operator says takes the place of defaults; what a client has set goes before it', async () => {
  const actors = await openEdgeActors();
  await actors.ask(config, 'update', { chat: { max_tool_rounds: 4 } });
  await actors.close();
  const tree = {
    chat: { max_tool_rounds: 50, auto_continue_on_length: false },
    shell: { timeout_seconds: 60 },
  };
  await writeFile(join(actors.directory, 'settings.json'), JSON.stringify(tree));
  const reopened = await actors.reopen();
  expect(await reopened.ask(config, 'settings', {})).toMatchObject({
    'chat.max_tool_rounds': 4,
    'chat.auto_continue_on_length': false,
    'shell.timeout_seconds': 60,
  });
});

test('no file is an empty one', async () => {
  expect(await readOperatorFile(join(tmpdir(), 'there-is-no-such-folder', 'settings.json'))).toEqual({});
});

test('maps and lists are one setting', async () => {
  const path = await fileWith('{"alloy":{"effort_tiers":{"quick":3}},"shell":{"deny_patterns":["rm"]}}');
  expect(await readOperatorFile(path)).toEqual({
    'alloy.effort_tiers': { quick: 3 },
    'shell.deny_patterns': ['rm'],
  });
});

test('a file with mistakes is refused, each of them named, none of them quoted', async () => {
  const path = await fileWith(
    JSON.stringify({
      chat: { max_tool_rounds: 0, max_tool_roundz: 5 },
      providers: { openai: { api_key: 'sk-0123456789' } },
      nonsense: 1,
    }),
  );
  const refused = readOperatorFile(path);
  await expect(refused).rejects.toThrow(/chat\.max_tool_rounds must be a whole number from 1 to 100/);
  await expect(refused).rejects.toThrow(/chat\.max_tool_roundz is no setting/);
  await expect(refused).rejects.toThrow(/providers\.openai\.api_key is a secret/);
  await expect(refused).rejects.toThrow(/nonsense is no setting/);
  await expect(refused).rejects.not.toThrow(/0123456789/);
});

test('a file that is no JSON, or no object, is refused', async () => {
  await expect(readOperatorFile(await fileWith('{"a"'))).rejects.toThrow(/is no JSON [(]line 1 column 5[)]$/);
  await expect(readOperatorFile(await fileWith('sk-0123456789'))).rejects.not.toThrow(/0123456789/);
  await expect(readOperatorFile(await fileWith('[]'))).rejects.toThrow(/the whole is no setting/);
});
