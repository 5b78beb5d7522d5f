// The service is killed while its vectors are made again for another engine: the next one goes on where that was, and both search.

import { expect, onTestFinished, test } from 'vitest';
import { openProject } from '../../support/documents.ts';
import { openMcp } from '../../support/mcp-client.ts';
import { startProviderDouble } from '../../support/provider-double.ts';
import { type ServiceProcess, startService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';

/** Of the document's texts, before the engine falls silent. A batch of the job, in two requests. */
const EMBEDDED_BEFORE = 64;
const PATIENCE = { timeout: 80_000, interval: 20 } as const;

const BREAD = 'Sourdough rises slowly in a cool kitchen.\n\n';
const WHALES = Array.from(
  { length: 1_500 },
  (_, n) =>
    `Whale number ${n} breathes air, and sings to whale number ${n + 1} over many miles of the sea.\n\n`,
).join('');

const configure = (service: ServiceProcess, settings: object) =>
  service.call('POST', '/api/config/update', settings);
const engine = async (service: ServiceProcess) => (await service.call('GET', '/api/health')).body.embeddings;

/** The document of the first hit. No word of it is spelt as in the text. */
async function foundByMeaning(service: ServiceProcess): Promise<string | undefined> {
  const { tool } = await openMcp(service.url);
  const { data } = await tool('search_projects', { query: 'sourdouhg risess slowwly', limit: 1 });
  return data.passages[0]?.document;
}

test('what was embedded again before a kill is not embedded a third time, and searches go on over all of it', {
  timeout: 240_000,
}, async () => {
  const double = await startProviderDouble({ script: {} });
  onTestFinished(() => double.stop());
  await using folder = await temporaryFolder();
  const options = { dataDir: folder.directory, environment: { LMSTUDIO_BASE_URL: double.baseUrl } };
  const embedded: string[] = [];
  let allowed = EMBEDDED_BEFORE;
  const released = Promise.withResolvers<void>();
  double.answer(async ({ path, body }) => {
    if (!path.endsWith('/embeddings')) return { text: '{"tags": [], "summary": "It is a text."}' };
    const texts = [body.input].flat().filter((text) => /whale/i.test(String(text))) as string[];
    if (texts.length > allowed) await released.promise;
    allowed -= texts.length;
    embedded.push(...texts);
    return {};
  });
  {
    await using first = await startService(options);
    await configure(first, { mcp: { server: { enabled: true } } });
    const project = await openProject(first);
    const bread = await project.write('bread.md', BREAD);
    const whales = await project.write('whales.md', WHALES);
    await project.settled(bread.id);
    expect((await project.settled(whales.id)).chunk_count).toBeGreaterThan(EMBEDDED_BEFORE);
    await configure(first, { embeddings: { remote_model: 'lmstudio:text-embedding-double' } });
    await expect.poll(async () => (await engine(first)).next?.progress?.done, PATIENCE).toBeGreaterThan(0);
    await expect.poll(() => foundByMeaning(first), PATIENCE).toBe('bread.md');
    await first.kill();
  }
  const before = embedded.splice(0);
  expect(before.length).toBeGreaterThan(0);
  allowed = 0;

  await using second = await startService(options);
  await expect.poll(() => foundByMeaning(second), PATIENCE).toBe('bread.md');
  expect((await engine(second)).model).toBe('troupe-lexical-v1');
  released.resolve();
  await expect
    .poll(async () => engine(second), PATIENCE)
    .toMatchObject({ model: 'text-embedding-double', next: null });
  expect(embedded.filter((text) => before.includes(text))).toEqual([]);
  const { tool } = await openMcp(second.url);
  const { data } = await tool('search_projects', { query: 'whale number 1234', limit: 1 });
  expect(data.passages[0]?.document).toBe('whales.md');
});
