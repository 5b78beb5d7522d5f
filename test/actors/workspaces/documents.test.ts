// Documents over HTTP, on the whole service.

import { createHash } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { workspaceRoutes } from '../../../src/http/routes/workspaces.ts';
import { openEdge } from '../../http/edge.ts';
import { ActorDoorDouble } from '../../support/actor-door.ts';
import { eventually } from '../../support/eventually.ts';
import { openTroupe } from '../../support/troupe.ts';
import { blobFiles, upload } from '../../support/uploads.ts';

const app = await openTroupe({ offline: true });
afterAll(() => app.close());

let project: string;
beforeEach(async () => {
  const { body } = await app.call('POST', '/api/workspaces', { name: 'A project' });
  project = `/api/workspaces/${body.workspace.id}`;
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const write = (filename: string, content: string) =>
  app.call('POST', `${project}/documents/text`, { filename, content });
const send = (filename: string, content: string | Uint8Array, type = '') =>
  upload(`${app.url}${project}/documents`, { filename, content, type });
const used = async () => (await app.call('GET', project)).body.workspace;

describe('an upload', () => {
  test('becomes a document that waits to be read', async () => {
    const { status, body } = await send('plan.md', '# Plan');
    expect(status).toBe(201);
    expect(body.document).toMatchObject({
      workspace_id: project.split('/').at(-1),
      filename: 'plan.md',
      content_type: 'text/markdown',
      size_bytes: 6,
      sha256: sha256('# Plan'),
      tags: [],
      summary: '',
      status: 'pending',
      error: null,
    });
    expect(body.document.id).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(await used()).toMatchObject({ document_count: 1, used_bytes: 6 });
    const { id, filename } = body.document;
    const { body: one } = await app.call('GET', `${project}/documents/${id}`);
    expect(one.document).toMatchObject({ id, filename, error: null });
    const { body: listed } = await app.call('GET', `${project}/documents`);
    expect(listed.documents).toMatchObject([{ id, filename, sha256: sha256('# Plan') }]);
  });

  test('of a name that is taken gets a number', async () => {
    const names = [];
    for (const content of ['one', 'two', 'three'])
      names.push((await send('a.txt', content)).body.document.filename);
    expect(names).toEqual(['a.txt', 'a (2).txt', 'a (3).txt']);
  });

  test('may name one folder, in any script', async () => {
    const { body } = await send('Entwürfe/計画.md', 'text');
    expect(body.document.filename).toBe('Entwürfe/計画.md');
  });

  test.each([
    ['program.exe', 415],
    ['picture.png', 415],
    ['noextension', 415],
    ['../../etc/passwd.txt', 400],
    ['a/b/c.txt', 400],
    ['/etc/hosts.txt', 400],
    ['.hidden.txt', 400],
    ['C:\\temp\\a.txt', 400],
    ['a\u202Etxt.md', 400],
    ['zero\u200Bwidth.md', 400],
    [`${'n'.repeat(300)}.md`, 400],
  ])('named %j is refused with %i, and nothing of it stays', async (filename, refusal) => {
    const before = await blobFiles(app.dataDir);
    const { status, body } = await send(filename, `content of ${filename}`);
    expect(status).toBe(refusal);
    expect(body.error).toMatch(/\S/);
    expect(await used()).toMatchObject({ document_count: 0, used_bytes: 0 });
    await eventually(() => blobFiles(app.dataDir)).toEqual(before);
  });

  test('without a file, or in another form, is told what is missing', async () => {
    const noFile = { status: 400, body: { code: 'no_file' } };
    expect(await app.call('POST', `${project}/documents`)).toMatchObject(noFile);
    expect(await app.call('POST', `${project}/documents`, { file: 'text' })).toMatchObject(noFile);
    const other = await upload(
      `${app.url}${project}/documents`,
      { filename: 'a.md', content: 'a' },
      'document',
    );
    expect(other).toMatchObject(noFile);
  });

  test('to a workspace that is not there is refused', async () => {
    const { status } = await upload(`${app.url}/api/workspaces/ws_none/documents`, {
      filename: 'a.md',
      content: 'a',
    });
    expect(status).toBe(404);
  });
});

describe('a text', () => {
  test('is created, changed and changed back; the same text again changes nothing', async () => {
    const { status, body } = await write('notes/plan.md', 'one');
    expect(status).toBe(201);
    const { id } = body.document;
    const put = (content: string, expected_sha256?: string) =>
      app.call('PUT', `${project}/documents/${id}/text`, {
        content,
        ...(expected_sha256 && { expected_sha256 }),
      });
    expect((await put('two!', sha256('one'))).body.document).toMatchObject({
      size_bytes: 4,
      status: 'pending',
    });
    const stale = await put('three', sha256('one'));
    expect(stale).toMatchObject({
      status: 409,
      body: { code: 'conflict', document_id: id, current_sha256: sha256('two!') },
    });
    const { updated_at } = (await app.call('GET', `${project}/documents/${id}`)).body.document;
    expect((await put('two!')).body.document).toMatchObject({ sha256: sha256('two!'), updated_at });
    expect((await used()).used_bytes).toBe(4);
  });

  test('of a name that is taken is refused with the document that has it', async () => {
    const { body } = await write('a.md', 'one');
    expect(await write('a.md', 'two')).toMatchObject({
      status: 409,
      body: { code: 'conflict', document_id: body.document.id },
    });
  });

  test('is refused for a name of any length, and at once', async () => {
    // To put so many marks in order took hours.
    const name = `a${'\u0301\u0323'.repeat(1_500_000)}.md`;
    expect((await write(name, 'text')).status).toBe(400);
    const { body } = await write('a.md', 'text');
    const renamed = await app.call('PATCH', `${project}/documents/${body.document.id}`, { name });
    expect(renamed.status).toBe(400);
  });

  test.each(['a.py', 'a.pdf', 'a'])('cannot be written to %s', async (filename) => {
    expect((await write(filename, 'text')).status).toBe(415);
  });

  test('is renamed within its folder, keeping its extension', async () => {
    const { body } = await write('notes/plan.md', 'one');
    await write('notes/taken.md', 'two');
    const rename = (name: string) => app.call('PATCH', `${project}/documents/${body.document.id}`, { name });
    expect((await rename('idea')).body.document).toMatchObject({
      id: body.document.id,
      filename: 'notes/idea.md',
    });
    expect((await rename('better idea.md')).body.document.filename).toBe('notes/better idea.md');
    expect(await rename('taken')).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await rename('../up')).status).toBe(400);
  });
});

test.each([
  [true, 202],
  [false, 200],
])('to read a document anew is answered by what comes of it: %s', async (is_started, status) => {
  const { body } = await write('a.md', 'one');
  const door = new ActorDoorDouble().seat(workspaces, {
    reingest: () => ({ document: body.document, is_started }),
  });
  const edge = await openEdge(door, workspaceRoutes);
  const answer = await edge.send('POST', '/api/workspaces/ws_home/documents/doc_1/reingest');
  expect(answer).toMatchObject({ status, body: { document: { id: body.document.id } } });
});

test('a document that is deleted is gone, and so are its bytes when no other has them', async () => {
  const hash = sha256('shared by two');
  const first = (await write('a.md', 'shared by two')).body.document.id;
  const second = (await send('b.txt', 'shared by two')).body.document.id;
  const remove = (id: string) => app.call('DELETE', `${project}/documents/${id}`);
  expect(await remove(first)).toMatchObject({ status: 200, body: { status: 'deleted', document_id: first } });
  expect((await remove(first)).status).toBe(404);
  expect((await blobFiles(app.dataDir)).blobs).toContain(hash);
  await remove(second);
  await eventually(async () => (await blobFiles(app.dataDir)).blobs.includes(hash)).toBe(false);
  expect(await used()).toMatchObject({ document_count: 0, used_bytes: 0 });
});
