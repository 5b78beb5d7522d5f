// The indexing actor, which is given up at a moment of the test's choice.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DocumentStore } from '../../../src/actors/ingestion/document-store.ts';
import { indexingActor } from '../../../src/actors/ingestion/indexing.ts';
import { completionsActor } from '../../../src/actors/providers/completions.ts';
import type { PendingDocument } from '../../../src/actors/workspaces/protocol.ts';
import type { Storage } from '../../../src/storage/contract.ts';
import { loopTurn } from '../../../src/supervisor/testkit/index.ts';
import { openSystem } from '../../support/actor-system.ts';
import { storageOfThisTest } from '../../support/storage.ts';

interface Gated {
  readonly storage: Storage;
  /** The flushed ones: of a reading, its beginning and its end. */
  readonly writes: readonly Promise<unknown>[];
}

/** The same storage, but something is done in front of each flushed write. */
function gated(storage: Storage, before: (count: number) => Promise<void>): Gated {
  const writes: Promise<unknown>[] = [];
  const write: Storage['write'] = (durability, change) => {
    if (durability !== 'flushed') return storage.write(durability, change);
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
  const document: PendingDocument = {
    user_id: 'default',
    workspace_id: 'ws_1',
    document_id: 'doc_1',
    revision: 1,
    filename: 'a.md',
    content_type: 'text/markdown',
    size_bytes: 1,
    sha256: '',
    path,
  };
  const leaving = new AbortController();
  let forgotten: Promise<unknown> | undefined;
  const { storage: slow, writes } = gated(storage, async (count) => {
    if (count !== 2) return;
    leaving.abort();
    forgotten = ref.ask('forget', { document_ids: ['doc_1'] });
    // As long as it takes to forget it, if that waits for nothing.
    for (let turn = 0; turn < 50; turn += 1) await loopTurn();
  });
  const system = await openSystem({ services: { storage: slow, version: '0.0.0' } });
  const completions = { module: completionsActor.module, exportName: completionsActor.exportName };
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
