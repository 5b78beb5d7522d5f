// What other actors ask of the workspaces: work for ingestion, text for tools, media from tools.

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { HOME_ID, workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { type EdgeActors, openEdgeActors } from '../../support/edge-actors.ts';
import { blobFiles } from '../../support/uploads.ts';

const user_id = 'default';

async function open() {
  const actors = await openEdgeActors();
  return { actors, ...doorOf(actors) };
}

function doorOf(actors: EdgeActors) {
  const write = async (filename: string, content: string, workspace_id: string = HOME_ID) =>
    (await actors.ask(workspaces, 'createText', { user_id, workspace_id, filename, content })).document;
  const pending = async () => (await actors.ask(workspaces, 'pendingDocuments', { limit: 10 })).documents;
  const find = async (document_id: string) =>
    (await actors.ask(workspaces, 'findDocument', { user_id, document_id })).document;
  return { write, pending, find };
}

const READ = { tags: ['plan'], summary: 'A plan.', chunk_count: 3 };

test('a document waits to be read, and is ready when it was', async () => {
  const { actors, write, pending, find } = await open();
  const { id, sha256 } = await write('a.md', 'one');
  const [waiting] = await pending();
  expect(waiting).toMatchObject({ user_id, workspace_id: HOME_ID, document_id: id, revision: 1, sha256 });
  expect(waiting?.path).toContain(sha256);
  const settled = await actors.ask(workspaces, 'ingested', { document_id: id, revision: 1, ...READ });
  expect(settled).toEqual({ accepted: true });
  expect(await pending()).toEqual([]);
  expect(await find(id)).toMatchObject({ status: 'ready', error: null, ...READ });

  const again = await actors.ask(workspaces, 'reingest', { user_id, workspace_id: HOME_ID, document_id: id });
  expect(again).toMatchObject({ is_started: true, document: { status: 'pending', ...READ } });
  await actors.ask(workspaces, 'ingestFailed', {
    document_id: id,
    revision: 2,
    error: 'no extractable text',
  });
  expect(await find(id)).toMatchObject({ status: 'failed', error: 'no extractable text' });
});

test('how far the reading of a document is can be seen, of the revision that it has', async () => {
  const { actors, write } = await open();
  const { id, progress } = await write('a.md', 'one');
  expect(progress).toEqual({ stage: 'waiting', fraction: null });
  const address = { user_id, workspace_id: HOME_ID, document_id: id };
  const seen = async () => (await actors.ask(workspaces, 'document', address)).document.progress;
  const tell = (revision: number, told: { stage: 'reading'; fraction: number } | null) =>
    actors.tell(workspaces, 'ingestionProgressed', { document_id: id, revision, progress: told });
  tell(1, { stage: 'reading', fraction: 0.5 });
  expect(await seen()).toEqual({ stage: 'reading', fraction: 0.5 });
  const { documents } = await actors.ask(workspaces, 'documents', address);
  expect(documents[0]?.progress).toEqual({ stage: 'reading', fraction: 0.5 });
  await actors.ask(workspaces, 'updateText', { ...address, content: 'two' });
  expect(await seen()).toEqual({ stage: 'waiting', fraction: null });
  tell(2, { stage: 'reading', fraction: 0.1 });
  tell(2, null);
  expect(await seen()).toEqual({ stage: 'waiting', fraction: null });
  tell(2, { stage: 'reading', fraction: 0.9 });
  await actors.ask(workspaces, 'ingested', { document_id: id, revision: 2, ...READ });
  expect(await seen()).toBeNull();
});

test('of more documents than are asked for, each workspace has some', async () => {
  const { actors, write, pending } = await open();
  const { workspace } = await actors.ask(workspaces, 'create', { user_id, name: 'A project' });
  const all = [];
  for (let n = 0; n < 12; n += 1) all.push((await write(`${n}.md`, 'one')).id);
  const { id } = await write('a.md', 'one', workspace.id);
  all.push(id);
  const waiting = (await pending()).map(({ document_id }) => document_id);
  expect(waiting).toContain(id);
  expect(waiting.length).toBeGreaterThan(5);
  const { documents } = await actors.ask(workspaces, 'pendingDocuments', { limit: 1_000 });
  expect(documents.map(({ document_id }) => document_id).sort()).toEqual(all.sort());
});

test('what is said about a revision that was overtaken changes nothing', async () => {
  const { actors, write, pending, find } = await open();
  const { id } = await write('a.md', 'one');
  const address = { user_id, workspace_id: HOME_ID, document_id: id };
  await actors.ask(workspaces, 'updateText', { ...address, content: 'two' });
  const late = await actors.ask(workspaces, 'ingested', { document_id: id, revision: 1, ...READ });
  expect(late).toEqual({ accepted: false });
  expect(await find(id)).toMatchObject({ status: 'pending', summary: '' });
  expect(await pending()).toMatchObject([{ revision: 2 }]);
  await actors.ask(workspaces, 'removeDocument', address);
  const gone = await actors.ask(workspaces, 'ingested', { document_id: id, revision: 2, ...READ });
  expect(gone).toEqual({ accepted: false });
});

test('a deleted document is owed to ingestion until it is forgotten, after a restart too', async () => {
  const { actors, write } = await open();
  const { workspace } = await actors.ask(workspaces, 'create', { user_id, name: 'A project' });
  const inProject = await write('a.md', 'one', workspace.id);
  const inHome = await write('b.md', 'two');
  await actors.ask(workspaces, 'remove', { user_id, workspace_id: workspace.id });
  await actors.ask(workspaces, 'removeDocument', { user_id, workspace_id: HOME_ID, document_id: inHome.id });

  const next = await actors.reopen();
  const owed = async () => {
    const { documents } = await next.ask(workspaces, 'removedDocuments', { limit: 10 });
    return documents.map(({ document_id }) => document_id).sort();
  };
  await expect.poll(owed).toEqual([inProject.id, inHome.id].sort());
  await next.ask(workspaces, 'forgotten', { document_ids: [inProject.id] });
  expect(await owed()).toEqual([inHome.id]);
  await expect.poll(() => blobFiles(next.directory)).toEqual({ blobs: [], drafts: [] });
});

test('text is read in pages, and the pages make the whole', async () => {
  const { actors, write } = await open();
  const content = `${'Zeile mit Ümlauten und 🦊. '.repeat(9_000)}Ende`;
  const { id } = await write('long.txt', content);
  let text = '';
  for (let offset: number | null = 0; offset !== null; ) {
    const page: { text: string; total_chars: number; next_offset: number | null } = await actors.ask(
      workspaces,
      'readText',
      { user_id, document_id: id, offset, limit: 99_999 },
    );
    expect(page.total_chars).toBe(content.length);
    expect(page.text.isWellFormed()).toBe(true);
    text += page.text;
    offset = page.next_offset;
  }
  expect(text).toBe(content);
  const behind = await actors.ask(workspaces, 'readText', { user_id, document_id: id, offset: 1e9 });
  expect(behind).toMatchObject({ text: '', next_offset: null });
});

test('an edit that would make more of a text than it may be is refused, and made by nobody', async () => {
  const { actors, write, find } = await open();
  const { id, sha256 } = await write('a.md', 'a'.repeat(1_000_000));
  const order = { user_id, document_id: id, find: 'a', replace: 'b'.repeat(1_000), replace_all: true };
  await expect(actors.ask(workspaces, 'editText', order)).rejects.toMatchObject({
    code: 'document_too_large',
  });
  expect(await find(id)).toMatchObject({ sha256 });
});

test('an edit replaces what is found once, or all of it when that is meant', async () => {
  const { actors, write } = await open();
  const { id } = await write('a.md', 'one $& two two');
  const edit = (find: string, replace: string, replace_all = false) =>
    actors.ask(workspaces, 'editText', { user_id, document_id: id, find, replace, replace_all });
  const text = async () => (await actors.ask(workspaces, 'readText', { user_id, document_id: id })).text;
  expect(await edit('two', '2')).toMatchObject({ found: 2, replacements: 0 });
  expect(await edit('three', '3')).toMatchObject({ found: 0, replacements: 0 });
  expect(await edit('', '3')).toMatchObject({ found: 0, replacements: 0 });
  expect(await edit('one', '$&')).toMatchObject({ replacements: 1, document: { status: 'pending' } });
  expect(await edit('two', '2', true)).toMatchObject({ found: 2, replacements: 2 });
  expect(await text()).toBe('$& $& 2 2');
  const stale = actors.ask(workspaces, 'appendText', {
    user_id,
    document_id: id,
    text: '!',
    expected_sha256: '0'.repeat(64),
  });
  await expect(stale).rejects.toMatchObject({ code: 'document_conflict' });
});

test('what many append at the same time is all there', async () => {
  const { actors, write } = await open();
  const { id } = await write('log.txt', '');
  const words = ['a', 'b', 'c', 'd', 'e'];
  await Promise.all(
    words.map((text) => actors.ask(workspaces, 'appendText', { user_id, document_id: id, text })),
  );
  const { text } = await actors.ask(workspaces, 'readText', { user_id, document_id: id });
  expect([...text].sort()).toEqual(words);
});

test('media of a tool go to the conversation’s project, or Home, and are found there by their owner alone', async () => {
  const { actors } = await open();
  const { workspace } = await actors.ask(workspaces, 'create', { user_id, name: 'A project' });
  const conversation_id = randomUUID();
  await actors.ask(workspaces, 'link', { user_id, workspace_id: workspace.id, conversation_id });
  const bytes = Buffer.from('\x89PNG\r\n\x1a\nand so on', 'latin1');
  const store = (of: string, name?: string) =>
    actors.ask(workspaces, 'storeMedia', {
      user_id,
      conversation_id: of,
      bytes,
      media_type: 'image/png',
      ...(name === undefined ? {} : { name }),
    });
  const stored = await store(conversation_id, '../Quarterly chart <1>');
  expect(stored).toMatchObject({ workspace_id: workspace.id, media_type: 'image/png' });
  expect(stored.filename).toMatch(/^uploads\/Quarterly-chart-1-\d{8}-\d{6}\.png$/);
  expect(stored.url).toBe(`/api/workspaces/${workspace.id}/documents/${stored.document_id}/raw`);
  expect((await store(randomUUID())).workspace_id).toBe(HOME_ID);

  const { document_id, workspace_id } = stored;
  const find = (owner: string) =>
    actors.ask(workspaces, 'findDocuments', {
      user_id: owner,
      documents: [
        { workspace_id: HOME_ID, document_id },
        { workspace_id, document_id },
      ],
    });
  expect((await find(user_id)).documents).toEqual([
    null,
    expect.objectContaining({ id: document_id, content_type: 'image/png', size_bytes: bytes.length }),
  ]);
  expect((await find('somebody else')).documents).toEqual([null, null]);
  const none = actors.ask(workspaces, 'storeMedia', {
    user_id,
    conversation_id,
    bytes: Buffer.from('<svg/>'),
    media_type: 'image/png',
  });
  await expect(none).rejects.toMatchObject({ code: 'media_refused', details: { code: 'unsupported' } });
});
