// DocumentStore: what was read of documents. Their text in stretches, where each chunk of it is, and the chunks as passages.
// D1 All of it is kept under document and revision, and filed piece by piece, so that a large document holds up nobody's
//    commits. It counts from the moment on when its revision is published, and the one before it is removed then.
// D2 What was never published is found by its document's id, and removed when that is read again or forgotten.

import type { Passages, Storage, Table, Transaction } from '../../storage/contract.ts';
import { DOCUMENTS } from '../vectors/protocol.ts';
import type { PendingDocument } from '../workspaces/protocol.ts';
import { CHUNKS_PER_PART, type Chunk } from './parser-protocol.ts';
import type { TextPage } from './protocol.ts';

export interface PublishedDocument {
  readonly revision: number;
  readonly chars: number;
  readonly chunks: number;
}

interface TextStretch {
  readonly text: string;
}
/** Line, last line and page of each chunk of a part. */
type Places = readonly (readonly [line: number, lineEnd: number, page: number | null])[];

export interface Place {
  readonly line: number;
  readonly line_end: number;
  readonly page: number | null;
}

export interface MadeChunk extends Chunk {
  readonly embedding?: { readonly engine: string; readonly vector: Float32Array };
}

export interface StoredPart {
  readonly number: number;
  /** Offset of its text. */
  readonly start: number;
  readonly text: string;
  readonly chunks: readonly MadeChunk[];
}

/** Of the texts and the places: the last is an offset, or a part's number. */
type RevisionKey = readonly [documentId: string, revision: number, at: number];

interface Begun {
  readonly revision: number;
  readonly times: number;
}

const REMOVED_PER_COMMIT = 64;

export class DocumentStore {
  readonly #storage: Storage;
  readonly #passages: Passages;
  readonly #published: Table<PublishedDocument>;
  readonly #texts: Table<TextStretch>;
  readonly #places: Table<Places>;
  readonly #begun: Table<Begun>;

  constructor(storage: Storage) {
    this.#storage = storage;
    this.#passages = storage.passages(DOCUMENTS);
    this.#published = storage.table({ name: 'ingestion published' });
    this.#texts = storage.table({ name: 'ingestion texts' });
    this.#places = storage.table({ name: 'ingestion places' });
    this.#begun = storage.table({ name: 'ingestion begun' });
  }

  published(documentId: string): PublishedDocument | undefined {
    return this.#published.get(documentId);
  }

  /** Notes that the file is about to be read; answers how often that was noted without the reading having ended. */
  begin({ document_id, revision }: PendingDocument): Promise<number> {
    return this.#storage.write('flushed', (tx) => {
      const before = tx.get(this.#begun, document_id);
      const times = before?.revision === revision ? before.times + 1 : 1;
      tx.put(this.#begun, document_id, { revision, times });
      return times;
    });
  }

  async readingEnded(documentId: string): Promise<void> {
    await this.#storage.write('committed', (tx) => tx.remove(this.#begun, documentId));
  }

  /**
   * D1. In one commit, in which no other thread commits for some 12 ms. A quarter of it took as long: what most of the time
   * goes into are the records of frequent words, which are written once a commit, however many of its chunks have them.
   */
  async addPart(document: PendingDocument, part: StoredPart, signal: AbortSignal): Promise<void> {
    const { document_id, revision } = document;
    signal.throwIfAborted();
    await this.#storage.write('committed', (tx) => {
      tx.put(this.#texts, [document_id, revision, part.start], { text: part.text });
      tx.put(
        this.#places,
        [document_id, revision, part.number],
        part.chunks.map(({ line, lineEnd, page }) => [line, lineEnd, page] as const),
      );
      part.chunks.forEach(({ text, embedding }, i) => {
        tx.putPassage(this.#passages, {
          id: passageId(document_id, revision, part.number * CHUNKS_PER_PART + i),
          owner: ownerOf(document),
          tags: [document_id],
          text,
          ...(embedding === undefined ? {} : { embedding }),
        });
      });
    });
  }

  /** D1. */
  async publish({ document_id, revision }: PendingDocument, chars: number, chunks: number): Promise<void> {
    await this.#storage.write('flushed', (tx) =>
      tx.put(this.#published, document_id, { revision, chars, chunks }),
    );
  }

  /** Removes all revisions but one, or all. What is not to be found any more is not found from the first commit on. */
  async removeOthers(documentId: string, kept: number | null): Promise<void> {
    if (kept === null) await this.#storage.write('committed', (tx) => tx.remove(this.#published, documentId));
    for (const table of [this.#texts, this.#places] as readonly Table<unknown>[]) {
      const keys = Array.from(table.range({ prefix: documentId }), ({ key }) => key as RevisionKey);
      await this.#removeEach(
        keys.filter(([, revision]) => revision !== kept),
        (tx, key) => tx.remove(table, key),
      );
    }
    const ids = [...this.#passages.ids({ prefix: `${documentId}#` })];
    await this.#removeEach(
      ids.filter((id) => partsOf(id)?.revision !== kept),
      (tx, id) => tx.removePassage(this.#passages, id),
    );
    if (kept === null) await this.readingEnded(documentId);
  }

  page(documentId: string, { revision, chars }: PublishedDocument, offset: number, limit: number): TextPage {
    const from = Math.min(offset, chars);
    const end = Math.min(from + limit, chars);
    const prefix = [documentId, revision];
    const [first] = this.#texts.range({ prefix, start: [...prefix, from], reverse: true, limit: 1 });
    const start = first === undefined ? from : (first.key as RevisionKey)[2];
    let text = '';
    for (const { value } of this.#texts.range({ prefix, start: [...prefix, start] })) {
      text += value.text;
      if (start + text.length >= end) break;
    }
    return {
      text: text.slice(from - start, end - start),
      offset: from,
      total_chars: chars,
      next_offset: end < chars ? end : null,
    };
  }

  /** Of a passage; null when its revision is not the published one. */
  placeOf(id: string): (Place & { readonly document_id: string }) | null {
    const parts = partsOf(id);
    if (parts === null || this.published(parts.documentId)?.revision !== parts.revision) return null;
    const part = Math.floor(parts.number / CHUNKS_PER_PART);
    const place = this.#places.get([parts.documentId, parts.revision, part])?.[
      parts.number % CHUNKS_PER_PART
    ];
    if (place === undefined) return null;
    const [line, line_end, page] = place;
    return { document_id: parts.documentId, line, line_end, page };
  }

  async #removeEach<Key>(keys: readonly Key[], remove: (tx: Transaction, key: Key) => void): Promise<void> {
    for (let from = 0; from < keys.length; from += REMOVED_PER_COMMIT) {
      const portion = keys.slice(from, from + REMOVED_PER_COMMIT);
      await this.#storage.write('committed', (tx) => {
        for (const key of portion) remove(tx, key);
      });
    }
  }
}

/** Of passages: Home is every user's own, under one id. */
export function ownerOf({
  user_id,
  workspace_id,
}: Pick<PendingDocument, 'user_id' | 'workspace_id'>): string {
  return `${user_id}/${workspace_id}`;
}

function passageId(documentId: string, revision: number, number: number): string {
  return `${documentId}#${revision}.${String(number).padStart(6, '0')}`;
}

function partsOf(id: string): { documentId: string; revision: number; number: number } | null {
  const [, documentId, revision, number] = /^(.+)#(\d+)\.(\d+)$/.exec(id) ?? [];
  if (documentId === undefined) return null;
  return { documentId, revision: Number(revision), number: Number(number) };
}
