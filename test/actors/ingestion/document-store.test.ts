import { describe, expect, test } from 'vitest';
import { DocumentStore, ownerOf, type StoredPart } from '../../../src/actors/ingestion/document-store.ts';
import { CHUNKS_PER_PART } from '../../../src/actors/ingestion/parser-protocol.ts';
import type { PendingDocument } from '../../../src/actors/workspaces/protocol.ts';
import type { Storage } from '../../../src/storage/contract.ts';
import { pendingDocument } from '../../support/pending-document.ts';
import { storageOfThisTest } from '../../support/storage.ts';

const DOCUMENT = pendingDocument();
const GO_ON = new AbortController().signal;

function partOf(number: number, start: number, word: string, count = CHUNKS_PER_PART): StoredPart {
  const texts = Array.from({ length: count }, (_, i) => `${word} ${number} ${i}\n`);
  let at = start;
  const chunks = texts.map((text, i) => {
    at += text.length;
    return { start: at - text.length, end: at, text, line: i + 1, lineEnd: i + 1, page: number + 1 };
  });
  return { number, start, text: texts.join(''), chunks };
}

async function add(
  store: DocumentStore,
  document: PendingDocument,
  parts: readonly StoredPart[],
): Promise<void> {
  for (const part of parts) await store.addPart(document, part, GO_ON);
}

function idsFound(storage: Storage, text: string): readonly string[] {
  return storage
    .passages('documents')
    .searchWords({ text, limit: 500, owners: [ownerOf(DOCUMENT)] })
    .map(({ id }) => id);
}

function placesFound(store: DocumentStore, storage: Storage, text: string): readonly unknown[] {
  return idsFound(storage, text).flatMap((id) => store.placeOf(id) ?? []);
}

describe('the store of documents', () => {
  test('shows the old revision as long as the new one is not all there, and only the new one from then on', async () => {
    const { storage } = await storageOfThisTest();
    const store = new DocumentStore(storage);
    await add(store, DOCUMENT, [partOf(0, 0, 'whale', 3)]);
    expect(placesFound(store, storage, 'whale')).toEqual([]);
    await store.publish(DOCUMENT, 30, 3);
    expect(placesFound(store, storage, 'whale').length).toBe(3);

    const next = { ...DOCUMENT, revision: 2 };
    const parts = [partOf(0, 0, 'ship'), partOf(1, partOf(0, 0, 'ship').text.length, 'ship', 2)];
    await add(store, next, parts);
    expect(placesFound(store, storage, 'ship')).toEqual([]);
    expect(placesFound(store, storage, 'whale').length).toBe(3);
    const text = parts.map((part) => part.text).join('');
    await store.publish(next, text.length, CHUNKS_PER_PART + 2);
    expect(placesFound(store, storage, 'whale')).toEqual([]);
    expect(placesFound(store, storage, 'ship').length).toBe(CHUNKS_PER_PART + 2);
    expect(placesFound(store, storage, 'ship')).toContainEqual({
      document_id: 'doc_1',
      line: 2,
      line_end: 2,
      page: 2,
    });
    await store.removeOthers('doc_1', 2);
    expect(idsFound(storage, 'whale')).toEqual([]);
  });

  test('reads the text in pages, across the stretches in which it is kept', async () => {
    const { storage } = await storageOfThisTest();
    const store = new DocumentStore(storage);
    const first = partOf(0, 0, 'whale');
    const second = partOf(1, first.text.length, 'ship');
    const text = first.text + second.text;
    await add(store, DOCUMENT, [first, second]);
    await store.publish(DOCUMENT, text.length, 2 * CHUNKS_PER_PART);
    const published = store.published('doc_1');
    if (published === undefined) throw new Error('it is not published');
    for (const size of [1, 7, 500, text.length, 10 * text.length]) {
      let read = '';
      for (let offset: number | null = 0; offset !== null; ) {
        const page = store.page('doc_1', published, offset, size);
        read += page.text;
        offset = page.next_offset;
      }
      expect(read).toBe(text);
    }
    expect(store.page('doc_1', published, 10 * text.length, 5)).toMatchObject({
      text: '',
      next_offset: null,
    });
  });

  test('leaves nothing of a document that is forgotten, nor takes another one for it', async () => {
    const { storage } = await storageOfThisTest();
    const store = new DocumentStore(storage);
    const other = { ...DOCUMENT, document_id: 'doc_10' };
    await add(store, DOCUMENT, [partOf(0, 0, 'whale')]);
    await add(store, { ...DOCUMENT, revision: 2 }, [partOf(0, 0, 'whale')]);
    await add(store, other, [partOf(0, 0, 'whale', 2)]);
    await store.publish(DOCUMENT, 10, 1);
    await store.publish(other, 10, 2);
    await store.removeOthers('doc_1', null);
    expect(store.published('doc_1')).toBeUndefined();
    expect(idsFound(storage, 'whale').length).toBe(2);
    expect(placesFound(store, storage, 'whale').length).toBe(2);
  });

  test('counts how often a reading has begun without having ended, for each revision anew', async () => {
    const { storage } = await storageOfThisTest();
    const store = new DocumentStore(storage);
    expect([await store.begin(DOCUMENT), await store.begin(DOCUMENT)]).toEqual([1, 2]);
    await store.readingEnded('doc_1');
    expect(await store.begin(DOCUMENT)).toBe(1);
    expect(await store.begin({ ...DOCUMENT, revision: 2 })).toBe(1);
  });
});
