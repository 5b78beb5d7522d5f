import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spawnService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { openTroupe, type TestTroupe } from '../../support/troupe.ts';

let app: TestTroupe;
beforeAll(async () => {
  app = await openTroupe();
});
afterAll(() => app.close());

test('the manifest goes over the wire whole, in the version that is asked for', async () => {
  const { status, body } = await app.call('GET', '/api/settings/manifest');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    version: 3,
    generated_at: expect.stringMatching(/^\d{4}-.*\+00:00$/),
    counts: { total: body.entries.length, memory: 12, config: body.entries.length - 12 },
  });
  const entry = (key: string) => body.entries.find((one: { key: string }) => one.key === key);
  expect(entry('alloy.effort_tiers')).toMatchObject({
    default: { quick: 8, standard: 30, deep: 60, marathon: 100 },
    writable_via: null,
  });
  expect(entry('planner.model')).toMatchObject({ default: null, value: null, nullable: true });
  expect(entry('providers.lmstudio.base_url').value).toBe(app.double.baseUrl);
  expect(entry('search.backend').constraints).toEqual({ enum: ['tavily', 'brave'] });
  expect(body.sections[0]).toEqual({
    id: 'providers',
    label: 'Model Providers',
    group: 'Infrastructure',
    writable_count: expect.any(Number),
    help: { summary: expect.any(String), what: expect.any(String), why: expect.any(String) },
  });
  const second = await app.call('GET', '/api/settings/manifest?version=2');
  expect(second.body).toMatchObject({ version: 2 });
  expect(second.body).not.toHaveProperty('sections');
  expect((await app.call('GET', '/api/settings/manifest?version=soon')).status).toBe(400);
});

test('a refused update answers an error per key, and what was right in it is not applied either', async () => {
  const { status, body } = await app.call('POST', '/api/config/update', {
    vision: { enabled: false },
    models: { roles: { summarizer: 'role:fast_utility' } },
    sc_k: 3,
  });
  expect(status).toBe(400);
  expect(body).toEqual({
    error: 'Nothing was changed: models.roles.summarizer cannot take that value',
    errors: { 'models.roles.summarizer': 'must be provider:model, or empty' },
  });
  expect((await app.call('GET', '/api/config')).body.vision.enabled).toBe(true);
});

test('context limits are read and written, and hold for the next turn', async () => {
  const path = '/api/config/context-limits';
  expect((await app.call('GET', path)).body).toEqual({
    lmstudio: { context_window: 32_768, max_output_tokens: 8192 },
    models: {},
  });
  const set = await app.call('POST', path, { lmstudio: { context_window: 40_000 } });
  expect(set).toMatchObject({
    status: 200,
    body: { status: 'ok', updated: ['context_limits.lmstudio.context_window'] },
  });
  const { body } = await app.call('GET', '/api/providers/models?provider=lmstudio');
  expect(body.models[0].context_window).toBe(40_000);
  const refused = await app.call('POST', path, { models: { 'openai:x': { context_window: 1 } } });
  expect(refused).toMatchObject({
    status: 400,
    body: { errors: { 'context_limits.models.openai:x': expect.any(String) } },
  });
  expect((await app.call('POST', path, { models: [] })).status).toBe(400);
});

test('a mistake in the file of the operator stops the start, in one line that names it', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.directory, 'settings.json');
  await writeFile(file, '{"shell": {"timeout_seconds": "long"}}');
  await using service = spawnService({ dataDir: folder.directory });
  expect(await service.exited).toMatchObject({ code: 1 });
  expect(service.stderr).toContain(
    `Troupe cannot start: ${file}: shell.timeout_seconds must be a whole number from 1 to 3600`,
  );
});
