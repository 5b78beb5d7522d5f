import { afterAll, expect, test } from 'vitest';
import { ingestion } from '../../../src/actors/ingestion/protocol.ts';
import { type Document, workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { openProject, projectOf, type TestProject } from '../../support/documents.ts';
import { eventually } from '../../support/eventually.ts';
import { pdfOf, pdfOfStreams } from '../../support/pdf.ts';
import { startService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';
import { openTroupe } from '../../support/troupe.ts';

const DESCRIPTION = { text: '{"tags": ["sea", "animals"], "summary": "It is about whales."}' };
const PARAGRAPH =
  'Whales are large animals of the sea. They breathe air, and sing to each other over many miles.\n\n';

/** Whoever starts cold on a busy machine takes its time. */
const TIMEOUT = { timeout: 150_000 };

const app = await openTroupe({ script: DESCRIPTION });
afterAll(() => app.close());

function passagesOf(project: TestProject, query: string) {
  const question = { user_id: 'default', workspace_id: project.id, query, k: 10 };
  return app.troupe.system
    .named(ingestion)
    .ask('passages', question)
    .then(({ passages }) => passages);
}

async function readWhole({ id }: Document): Promise<string> {
  const page = { document_id: id, offset: 0, limit: Number.MAX_SAFE_INTEGER };
  return (await app.troupe.system.named(ingestion).ask('text', page)).text;
}

function isParsing(): boolean {
  return parsersOf().length > 0;
}

function parsersOf(): readonly number[] {
  return parserThreads().flatMap(({ thread, state }) => (state === 'ready' ? [thread] : []));
}

function parserThreads() {
  return app.troupe.system.threads().filter(({ name }) => name?.includes('parser'));
}

test('documents of every kind become ready, with tags, a summary, a text and passages', TIMEOUT, async () => {
  const project = await openProject(app);
  const files: Readonly<Record<string, Uint8Array | string>> = {
    'a.pdf': pdfOf([['Of ships and harbours.'], ['Whales are large animals.']], { compressed: true }),
    'a.md': `# Sea\n\n${PARAGRAPH}`,
    'a.txt': PARAGRAPH,
    'a.py': 'def whales():\n    return "Whales are large animals"\n',
    'a.csv': 'name,what\nwhales,large animals\n',
    'a.json': '{ "whales": "large animals" }',
    'a.html': '<h1>Sea</h1><p>Whales are large animals.</p>',
  };
  const uploaded = await Promise.all(Object.entries(files).map((file) => project.upload(...file)));
  expect(new Set(uploaded.map(({ status }) => status))).toEqual(new Set(['pending']));
  for (const { id, filename } of uploaded) {
    const document = await project.settled(id);
    expect(document, filename).toMatchObject({
      status: 'ready',
      error: null,
      progress: null,
      tags: ['sea', 'animals'],
      summary: 'It is about whales.',
    });
    expect(document.chunk_count, filename).toBeGreaterThan(0);
    expect(await readWhole(document), filename).toContain('arge animals');
  }
  const found = await passagesOf(project, 'large animals');
  expect(new Set(found.map(({ document_id }) => document_id))).toEqual(new Set(uploaded.map(({ id }) => id)));
  const [pdf] = uploaded;
  expect(found.find(({ document_id }) => document_id === pdf?.id)).toMatchObject({ page: 1, line: 1 });
  const { body } = await app.call('GET', '/api/metrics/usage');
  expect(body.by_source).toMatchObject([{ source: 'documents', turns: uploaded.length }]);
});

test('without a model a document has no tags, and its beginning for a summary', TIMEOUT, async () => {
  await using offline = await openTroupe({ offline: true });
  const project = await openProject(offline);
  const { id } = await project.write('a.md', `# Sea\n\n${PARAGRAPH.repeat(20)}`);
  const { status, tags, summary } = await project.settled(id);
  expect({ status, tags }).toEqual({ status: 'ready', tags: [] });
  expect(summary).toMatch(/^# Sea Whales are large animals.*…$/);
});

test('what cannot be read has failed, with a reason, and holds up nothing else', TIMEOUT, async () => {
  const project = await openProject(app);
  const bad = [
    await project.upload('encrypted.pdf', pdfOf([['secret']], { encrypted: true })),
    await project.upload('scanned.pdf', pdfOf([[]])),
    await project.upload('damaged.pdf', '%PDF-1.4 and no more'),
    await project.upload('blank.md', ' \n'),
  ];
  const good = await project.upload('good.md', PARAGRAPH);
  expect((await project.settled(good.id)).status).toBe('ready');
  const settled = await Promise.all(bad.map(({ id }) => project.settled(id)));
  expect(settled.map(({ status, error }) => ({ status, error }))).toEqual(
    [
      'The PDF is protected by a password',
      'no extractable text',
      'The PDF is damaged, or no PDF',
      'no extractable text',
    ].map((error) => ({ status: 'failed', error })),
  );
});

test(
  'a document that costs two parsers their lives has failed; one that was beside it is read',
  TIMEOUT,
  async () => {
    const project = await openProject(app);
    const page = Array.from(
      { length: 45 },
      (_, i) => `Line ${i} of a page that is full of words about whales.`,
    );
    const long = await project.upload('long.pdf', pdfOf(Array.from({ length: 1_500 }, () => page)));
    // Others may be at rest still, of documents before: whichever there is goes, until this document is given up.
    const killed = new Set<number>();
    let isSettled = false;
    const settled = project.settled(long.id).finally(() => {
      isSettled = true;
    });
    while (!isSettled) {
      const thread = parsersOf().find((one) => !killed.has(one));
      if (thread === undefined) await new Promise((resolve) => setImmediate(resolve));
      else {
        killed.add(thread);
        await app.troupe.system.terminateThread(thread);
      }
    }
    expect(killed.size).toBeGreaterThanOrEqual(2);
    expect(await settled).toMatchObject({
      status: 'failed',
      error: 'Reading it took too long, or too much memory',
    });
    const good = await project.upload('good.md', PARAGRAPH);
    expect((await project.settled(good.id)).status).toBe('ready');
  },
);

test('a document that takes too long to parse has failed, and its parser ends', TIMEOUT, async () => {
  const project = await openProject(app);
  const limited = await app.call('POST', '/api/config/update', { ingestion: { parse_seconds: 1 } });
  expect(limited.status).toBe(200);
  const resting = parserThreads().length;
  // 20 KB, and 8 GB of a page without a text that could be counted.
  const bomb = pdfOfStreams([Buffer.from('q Q '.repeat(4_000_000))], { compressed: true, times: 500 });
  const { id } = await project.upload('long.pdf', bomb);
  expect(await project.settled(id)).toMatchObject({
    status: 'failed',
    error: 'Reading it took longer than is allowed (1 s)',
  });
  // It was one of those at rest, if there were any.
  await eventually(() => parserThreads().length).toBeLessThanOrEqual(Math.max(0, resting - 1));
  await app.call('POST', '/api/config/update', { ingestion: { parse_seconds: 180 } });
});

test('the newest edit wins, whatever was being read', TIMEOUT, async () => {
  const project = await openProject(app);
  const { id } = await project.write('a.md', PARAGRAPH.repeat(1_500));
  await eventually(() => isParsing()).toBe(true);
  for (const word of ['one', 'two', 'three']) await project.rewrite(id, `Only ${word} remains.`);
  const document = await project.settled(id);
  expect(document).toMatchObject({ status: 'ready', chunk_count: 1 });
  expect(await readWhole(document)).toBe('Only three remains.');
  await eventually(async () => (await passagesOf(project, 'whales animals remains')).length).toBe(1);
});

test('nothing is found of a document that was deleted, while it was read or later', TIMEOUT, async () => {
  const project = await openProject(app);
  const ready = await project.write('ready.md', PARAGRAPH);
  await project.settled(ready.id);
  const long = await project.write('long.md', PARAGRAPH.repeat(1_500));
  await eventually(() => isParsing()).toBe(true);
  await Promise.all([project.remove(long.id), project.remove(ready.id)]);
  await eventually(async () => (await passagesOf(project, 'whales')).length).toBe(0);
  const { system } = app.troupe;
  await eventually(
    async () => (await system.named(workspaces).ask('removedDocuments', { limit: 9 })).documents,
  ).toEqual([]);
  await expect(readWhole(ready)).rejects.toMatchObject({ code: 'text_not_there' });
});

test('nothing is kept of the documents of a project that was deleted', TIMEOUT, async () => {
  const project = await openProject(app);
  const names = Array.from({ length: 3 }, (_, i) => `${i}.md`);
  const written = await Promise.all(names.map((name) => project.write(name, PARAGRAPH)));
  for (const { id } of written) await project.settled(id);
  // Nothing else wakes the reader of documents.
  await app.call('DELETE', `/api/workspaces/${project.id}`);
  const isKept = async (document: Document) => readWhole(document).then(Boolean, () => false);
  await eventually(() => Promise.all(written.map(isKept))).toEqual(written.map(() => false));
});

test('documents that were pending at a stop are read after the next start', TIMEOUT, async () => {
  const project = await openProject(app);
  const files = Array.from({ length: 4 }, (_, i) => project.write(`${i}.md`, PARAGRAPH.repeat(100)));
  const written = await Promise.all(files);
  await app.restart();
  const settled = await Promise.all(written.map(({ id }) => projectOf(app, project.id).settled(id)));
  expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 'ready'));
});

test(
  'a document that was being read when the service was killed is read by the next one',
  TIMEOUT,
  async () => {
    await using folder = await temporaryFolder();
    const service = { dataDir: folder.directory };
    let project: TestProject;
    let written: Document;
    {
      await using first = await startService(service);
      project = await openProject(first);
      written = await project.write('long.md', PARAGRAPH.repeat(3_000));
      const id = written.id;
      const stage = async () => (await project.document(id)).progress?.stage;
      await expect.poll(stage, { timeout: 80_000, interval: 5 }).not.toBe('waiting');
      await first.kill();
    }
    await using second = await startService(service);
    const settled = await projectOf(second, project.id).settled(written.id);
    expect(settled).toMatchObject({ status: 'ready', error: null });
    expect(settled.chunk_count).toBeGreaterThan(100);
  },
);
