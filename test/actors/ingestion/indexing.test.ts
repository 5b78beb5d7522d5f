// What comes in while the indexing actor is at a commit: held there, for as long as the test wants.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configActor } from '../../../src/actors/config/actor.ts';
import { readOperatorFile } from '../../../src/actors/config/operator-file.ts';
import { ingestionActor } from '../../../src/actors/ingestion/actor.ts';
import { DocumentStore } from '../../../src/actors/ingestion/document-store.ts';
import { indexingActor } from '../../../src/actors/ingestion/indexing.ts';
import { completionsActor } from '../../../src/actors/providers/completions.ts';
import { workspacesActor } from '../../../src/actors/workspaces/actor.ts';
import { HOME_ID, workspaces } from '../../../src/actors/workspaces/protocol.ts';
import type { Durability, Storage } from '../../../src/storage/contract.ts';
import { child } from '../../../src/supervisor/children.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { loopTurn } from '../../../src/supervisor/testkit/index.ts';
import { openSystem } from '../../support/actor-system.ts';
import { eventually } from '../../support/eventually.ts';
import { pendingDocument } from '../../support/pending-document.ts';
import { storageOfThisTest } from '../../support/storage.ts';

const completions = { module: completionsActor.module, exportName: completionsActor.exportName };
const user_id = 'default';

interface Gated {
  readonly storage: Storage;
  /** Those that were waited in front of. */
  readonly writes: readonly Promise<unknown>[];
}

/** The same storage, but something is done in front of each write of that class. */
function gated(storage: Storage, gate: Durability, before: (count: number) => Promise<void>): Gated {
  const writes: Promise<unknown>[] = [];
  const write: Storage['write'] = (durability, change) => {
    if (durability !== gate) return storage.write(durability, change);
    const written = before(writes.length + 1).then(() => storage.write(durability, change));
    writes.push(written);
    return written;
  };
  const get = (target: Storage, name: keyof Storage): unknown => {
    const member = target[name];
    if (name === 'write') return write;
    return typeof member === 'function' ? member.bind(target) : member;
  };
  return {
    storage: new Proxy(storage, { get: (target, name) => get(target, name as keyof Storage) }),
    writes,
  };
}

test('a document that is deleted while it is published leaves nothing', async () => {
  const { storage, directory } = await storageOfThisTest();
  const path = join(directory, 'a.md');
  await writeFile(path, 'Whales are large animals of the sea. '.repeat(300));
  const document = pendingDocument({ path });
  const leaving = new AbortController();
  let forgotten: Promise<unknown> | undefined;
  const { storage: slow, writes } = gated(storage, 'flushed', async (count) => {
    if (count !== 2) return; // The first is the beginning of a reading, the second its end.
    leaving.abort();
    forgotten = ref.ask('forget', { document_ids: ['doc_1'] });
    // As long as it takes to forget it, if that waits for nothing.
    for (let turn = 0; turn < 50; turn += 1) await loopTurn();
  });
  const system = await openSystem({ services: { storage: slow, version: '0.0.0' } });
  const ref = system.spawn(indexingActor, { completions }, { id: 'indexing' });
  const order = { document, parseMs: 60_000, parserHeapMb: 256 };
  const indexed = ref.ask('index', order, { signal: leaving.signal, deadlineMs: 60_000 });
  await expect(indexed).rejects.toMatchObject({ code: 'ask_cancelled' });
  await forgotten;
  await Promise.all(writes);
  expect(writes).toHaveLength(2);
  expect(new DocumentStore(storage).published('doc_1')).toBeUndefined();
  expect([...storage.passages('documents').ids()]).toEqual([]);
});

test('other documents are read while a deleted one is being removed', async () => {
  const { storage, directory } = await storageOfThisTest();
  const removal = Promise.withResolvers<void>();
  let isHeld = false;
  const { storage: slow } = gated(storage, 'committed', () => {
    const held = isHeld ? removal.promise : Promise.resolve();
    isHeld = false;
    return held;
  });
  const configArguments = {
    environment: {},
    keyFile: join(directory, 'settings.key'),
    operator: await readOperatorFile(join(directory, 'settings.json')),
  };
  const system = await createActorSystem({
    services: { storage: slow, version: '0.0.0' },
    children: [
      child(configActor, configArguments, { id: 'config', name: true }),
      child(workspacesActor, undefined, { id: 'workspaces', name: true }),
      child(ingestionActor, { completions }, { id: 'ingestion', name: true }),
    ],
  });
  onTestFinished(() => system.stop());
  const ref = system.named(workspaces);
  const write = async (filename: string) =>
    (await ref.ask('createText', { user_id, workspace_id: HOME_ID, filename, content: 'Of whales.' }))
      .document;
  const statusOf = async (document_id: string) =>
    (await ref.ask('findDocument', { user_id, document_id })).document.status;
  const removed = async () => (await ref.ask('removedDocuments', { limit: 9 })).documents;

  const { id: document_id } = await write('a.md');
  await eventually(() => statusOf(document_id)).toBe('ready');
  isHeld = true;
  await ref.ask('removeDocument', { user_id, workspace_id: HOME_ID, document_id });
  await eventually(() => isHeld).toBe(false);
  const other = await write('b.md');
  await eventually(() => statusOf(other.id)).toBe('ready');
  expect(await removed()).toMatchObject([{ document_id }]);
  removal.resolve();
  await eventually(removed).toEqual([]);
});
