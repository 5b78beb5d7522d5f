import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { config } from '../../../src/actors/config/protocol.ts';
import { type EdgeActors, openEdgeActors } from '../../support/edge-actors.ts';
import { unflushableDisk } from '../../support/tampered-storage.ts';

const KEY = 'sk-live-0123456789abcdef';

const settingsOf = (actors: EdgeActors) => actors.ask(config, 'settings', {});

test('an update is stored, answers its keys, and takes effect at once and after a restart', async () => {
  const actors = await openEdgeActors();
  const answer = await actors.ask(config, 'update', {
    providers: { openai: { api_key: KEY, timeout: 12.5 } },
    chat: { max_tool_rounds: 3 },
    unknown: { key: 1 },
  });
  expect(answer).toEqual({
    status: 'ok',
    message: '3 settings changed.',
    updated: ['providers.openai.api_key', 'providers.openai.timeout', 'chat.max_tool_rounds'],
  });
  const expected = {
    'providers.openai.api_key': KEY,
    'providers.openai.timeout': 12.5,
    'chat.max_tool_rounds': 3,
    'chat.auto_continue_on_length': true,
  };
  expect(await settingsOf(actors)).toMatchObject(expected);
  expect(await settingsOf(await actors.reopen())).toMatchObject(expected);
});

test('a refused update changes nothing and answers an error per key', async () => {
  const actors = await openEdgeActors();
  const refused = actors.ask(config, 'update', {
    chat: { max_tool_rounds: 5 },
    llm_settings: { top_p: 7 },
    models: { roles: { summarizer: 'role:fast_utility' } },
  });
  await expect(refused).rejects.toMatchObject({
    code: 'config_invalid',
    kind: 'invalid',
    details: {
      errors: {
        'llm_settings.top_p': 'must be a number from 0 to 1',
        'models.roles.summarizer': 'must be provider:model, or empty',
      },
    },
  });
  expect((await settingsOf(actors))['chat.max_tool_rounds']).toBe(10);
});

test('the text of an error never holds the value that was refused', async () => {
  const actors = await openEdgeActors();
  const error: Error = await actors
    .ask(config, 'update', { providers: { openai: { api_key: `${KEY} oops` } } })
    .then(
      () => new Error('taken'),
      (error) => error,
    );
  expect(JSON.stringify({ ...error, message: error.message })).not.toContain(KEY);
});

test('the view shows no secret', async () => {
  const actors = await openEdgeActors();
  await actors.ask(config, 'update', { providers: { anthropic: { api_key: KEY } } });
  const view = await actors.ask(config, 'view', {});
  expect(view).toMatchObject({
    providers: { anthropic: { api_key: '***cdef' } },
    chat: { max_tool_rounds: 10 },
  });
  expect(JSON.stringify(view)).not.toContain(KEY);
});

test('no file of the data folder holds a secret in plain text', async () => {
  const actors = await openEdgeActors();
  await actors.ask(config, 'update', { providers: { anthropic: { api_key: KEY } } });
  await actors.close();
  const contents = await contentsOf(actors.directory);
  expect(contents.length).toBeGreaterThan(1);
  for (const content of contents) expect(content.includes(KEY)).toBe(false);
});

test('the environment gives the first value only', async () => {
  const environment = {
    OPENAI_API_KEY: ' sk-env ',
    ANTHROPIC_API_KEY: '',
    LMSTUDIO_BASE_URL: 'http://127.0.0.1:1234/v1',
  };
  const first = await openEdgeActors({ environment });
  expect(await settingsOf(first)).toMatchObject({
    'providers.openai.api_key': 'sk-env',
    'providers.anthropic.api_key': null,
    'providers.lmstudio.base_url': 'http://127.0.0.1:1234/v1',
  });
  await first.ask(config, 'update', {
    providers: { openai: { api_key: 'sk-user' }, lmstudio: { base_url: null } },
  });

  const second = await first.reopen({ environment: { ...environment, ANTHROPIC_API_KEY: 'sk-late' } });
  expect(await settingsOf(second)).toMatchObject({
    'providers.openai.api_key': 'sk-user',
    'providers.lmstudio.base_url': null,
    'providers.anthropic.api_key': 'sk-late',
  });
});

test('a value of the environment that does not fit is passed over', async () => {
  const actors = await openEdgeActors({
    environment: { OPENAI_API_KEY: 'two words', LMSTUDIO_BASE_URL: 'nowhere' },
  });
  expect(await settingsOf(actors)).toMatchObject({
    'providers.openai.api_key': null,
    'providers.lmstudio.base_url': null,
  });
});

test('secrets sealed with a key that is lost count as not set; all else is kept', async () => {
  const actors = await openEdgeActors();
  await actors.ask(config, 'update', {
    providers: { openai: { api_key: KEY } },
    chat: { max_tool_rounds: 4 },
  });
  await actors.close();
  await rm(join(actors.directory, 'secrets.key'));
  const reopened = await actors.reopen();
  expect(await settingsOf(reopened)).toMatchObject({
    'providers.openai.api_key': null,
    'chat.max_tool_rounds': 4,
  });
  expect(await reopened.ask(config, 'manifest', {})).toMatchObject({
    errors: { 'providers.openai.api_key': 'sealed with another key' },
  });
});

test('endpoints whose key file is lost are there again when it is back, whatever was registered meanwhile', async () => {
  const endpoint = (label: string) => ({
    label,
    base_url: 'https://api.example.org/v1',
    api_key: `${KEY}-${label}`,
    headers: {},
    enabled: true,
  });
  const registered = { groq: endpoint('Groq'), other: endpoint('Other') };
  const first = await openEdgeActors();
  const keyFile = join(first.directory, 'secrets.key');
  const endpointsOf = async (actors: EdgeActors) => (await settingsOf(actors))['providers.custom'];
  await first.ask(config, 'assign', { 'providers.custom': registered });
  await first.close();
  await rename(keyFile, `${keyFile}.first`);

  const second = await first.reopen();
  expect(await endpointsOf(second)).toEqual({});
  const late = { late: endpoint('Late') };
  await second.ask(config, 'assign', { 'providers.custom': late });
  await second.ask(config, 'assign', { 'providers.custom': late });
  expect(await endpointsOf(second)).toEqual(late);
  await second.close();
  await rename(keyFile, `${keyFile}.second`);
  await rename(`${keyFile}.first`, keyFile);

  const third = await second.reopen();
  expect(await endpointsOf(third)).toEqual(registered);
  await third.ask(config, 'assign', { 'providers.custom': { groq: registered.groq } });
  await third.close();
  expect(await endpointsOf(await third.reopen())).toEqual({ groq: registered.groq });
});

test('what is stored is in force, also where its sender was told that it could not be saved', async () => {
  const disk = unflushableDisk('settings');
  const actors = await openEdgeActors({ storage: disk.storage });
  disk.failures = 1;
  const update = actors.ask(config, 'update', { chat: { max_tool_rounds: 3 } });
  await expect(update).rejects.toMatchObject({ code: 'storage_full' });
  const { 'chat.max_tool_rounds': inForce } = await settingsOf(actors);
  expect((await settingsOf(await actors.reopen()))['chat.max_tool_rounds']).toBe(inForce);
});

test('updates at the same time all take effect', async () => {
  const actors = await openEdgeActors();
  await Promise.all([
    ...Array.from({ length: 20 }, (_, at) =>
      actors.ask(config, 'update', { chat: { max_tool_rounds: at + 1 } }),
    ),
    actors.ask(config, 'update', { preferences: { default_model: 'openai:a' } }),
  ]);
  expect(await settingsOf(actors)).toMatchObject({
    'chat.max_tool_rounds': 20,
    'preferences.default_model': 'openai:a',
  });
});

test('registered endpoints are set by their own routes only, sealed as a whole, and shown without their secrets', async () => {
  const actors = await openEdgeActors();
  const endpoint = {
    label: 'Groq',
    base_url: 'https://api.example.org/v1',
    api_key: KEY,
    headers: { 'x-team': 'a-secret-of-the-team' },
    enabled: true,
  };
  await actors.ask(config, 'update', { providers: { custom: { groq: endpoint } } });
  expect((await settingsOf(actors))['providers.custom']).toEqual({});
  await actors.ask(config, 'assign', { 'providers.custom': { groq: endpoint } });
  const shown = JSON.stringify(await actors.ask(config, 'view', {}));
  expect(shown).toContain('api.example.org');
  expect(shown).not.toContain(KEY);
  expect(shown).not.toContain('a-secret-of-the-team');
  await actors.close();
  const contents = await contentsOf(actors.directory);
  for (const content of contents) expect(content.includes('a-secret-of-the-team')).toBe(false);
  expect((await settingsOf(await actors.reopen()))['providers.custom']).toEqual({ groq: endpoint });
});

test('what is assigned has to fit too', async () => {
  const actors = await openEdgeActors();
  const assigned = actors.ask(config, 'assign', { 'chat.max_tool_rounds': 0 });
  await expect(assigned).rejects.toMatchObject({ code: 'config_invalid' });
});

async function contentsOf(directory: string): Promise<readonly string[]> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  return Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
}
