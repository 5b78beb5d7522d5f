// Changes that are committed and fail to be flushed: their senders are told that they failed, and what stands is attended to.

import { expect, test } from 'vitest';
import { workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { eventually } from '../../support/eventually.ts';
import { openRunsSystem, USER } from '../../support/runs-system.ts';
import { unflushableDisk } from '../../support/tampered-storage.ts';

const HOME = { user_id: USER, workspace_id: 'ws_home' };

async function openUnflushable(table: string) {
  const disk = unflushableDisk(table);
  const { system, storage } = await openRunsSystem({ storage: disk.storage, threads: true });
  const door = system.named(workspaces);
  const statuses = async () =>
    (await door.ask('documents', HOME)).documents.map(({ filename, status }) => [filename, status]);
  const failing = async (change: () => Promise<unknown>): Promise<void> => {
    // Behind what can be read already, and is being answered.
    for (let write = 0; write < 5; write += 1) await storage.write('flushed', () => undefined);
    disk.failures = 1;
    await expect(change()).rejects.toMatchObject({ code: 'storage_full' });
  };
  return { door, statuses, failing };
}

test('a document that is uploaded, or to be read again, is read', async () => {
  const { door, statuses, failing } = await openUnflushable('documents');
  await failing(async () => {
    const file = { filename: 'a.md', content_type: 'text/markdown', bytes_min: 0 };
    const { upload_id } = await door.ask('beginUpload', { ...HOME, file });
    await door.ask('writeUpload', { upload_id, bytes: Buffer.from('Some words.') });
    await door.ask('finishUpload', { upload_id });
  });
  await eventually(statuses).toEqual([['a.md', 'ready']]);
  const [document] = (await door.ask('documents', HOME)).documents;
  const address = { ...HOME, document_id: document?.id as string };
  await failing(() => door.ask('reingest', address));
  await eventually(statuses).toEqual([['a.md', 'ready']]);
});

test('a document that is deleted is forgotten', async () => {
  const { door, statuses, failing } = await openUnflushable('document_removals');
  const { document } = await door.ask('createText', { ...HOME, filename: 'a.md', content: 'Some words.' });
  await eventually(statuses).toEqual([['a.md', 'ready']]);
  await failing(() => door.ask('removeDocument', { ...HOME, document_id: document.id }));
  expect(await statuses()).toEqual([]);
  await eventually(async () => (await door.ask('removedDocuments', { limit: 1 })).documents).toEqual([]);
});
