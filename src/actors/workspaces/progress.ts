// Progress: how far the documents are that are being read. What ingestion says of it is kept in memory only: after a restart each
// of them is read from its beginning.
// P1 Only of a document that is pending, and only of the revision that it has.

import type { Document, IngestionStage } from './protocol.ts';
import type { DocumentRecord } from './record.ts';

interface Told {
  readonly revision: number;
  readonly stage: IngestionStage;
  readonly fraction: number | null;
}

export class Progress {
  readonly #told = new Map<string, Told>();

  /** There are as many as documents are read at a time. */
  tell(documentId: string, told: Told): void {
    this.#told.set(documentId, told);
  }

  /** It is not being read any more, by whatever end. */
  forget(documentId: string): void {
    this.#told.delete(documentId);
  }

  /** Whoever told it is not there any more. */
  clear(): void {
    this.#told.clear();
  }

  /** P1. */
  shownOn(document: Document, { revision }: Pick<DocumentRecord, 'revision'>): Document {
    const told = this.#told.get(document.id);
    if (document.progress === null || told?.revision !== revision) return document;
    return { ...document, progress: { stage: told.stage, fraction: told.fraction } };
  }
}
