// Documents: what lies in a workspace, to look at, to read, to rename and to delete. How it gets there: intake.ts, writing.ts.

import type { Handlers } from '../../supervisor/actor.ts';
import { mediaInUse, unusedAvatars } from './avatars.ts';
import { isText } from './content-types.ts';
import type { Desk } from './desk.ts';
import { renamed } from './filename.ts';
import { type Document, TEXT_PAGE_LENGTH_DEFAULT, type workspaces } from './protocol.ts';
import { openBlobOf, rawOf } from './raw.ts';
import { type DocumentRecord, viewDocument, viewWorkspace } from './record.ts';
import { readPage } from './stored-text.ts';
import { notText } from './texts.ts';

type DocumentMessages = Pick<
  Handlers<typeof workspaces>,
  | 'documents'
  | 'document'
  | 'rename'
  | 'removeDocument'
  | 'raw'
  | 'reingest'
  | 'pruneAvatars'
  | 'manifest'
  | 'findDocument'
  | 'readText'
  | 'findDocuments'
>;

export function documentHandlers(desk: Desk): DocumentMessages {
  const { context, store, blobs, work, progress, cleanSoon, workspaceOf, documentOf } = desk;
  const { clock } = context;

  const view = (documentId: string, record: DocumentRecord): Document =>
    progress.shownOn(viewDocument(documentId, record), record);

  const removeDocument = async (documentId: string): Promise<void> => {
    try {
      await store.removeDocument(documentId, clock.nowMs());
    } finally {
      work.wake();
      cleanSoon();
    }
  };

  return {
    async documents({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const found = store.documentsOf(user_id, workspace_id);
      return { documents: found.map(({ documentId, record }) => view(documentId, record)) };
    },

    document: (address) => ({ document: view(address.document_id, documentOf(address)) }),

    async rename({ name, ...address }) {
      const { filename } = documentOf(address);
      const record = await store.rename(address.document_id, renamed(filename, name), clock.nowMs());
      return { document: view(address.document_id, record) };
    },

    async removeDocument(address) {
      documentOf(address);
      await removeDocument(address.document_id);
      return { status: 'deleted', document_id: address.document_id };
    },

    raw: ({ range, ...address }) => rawOf(blobs, () => documentOf(address), range),

    async reingest(address) {
      documentOf(address);
      try {
        const { record, isStarted } = await store.reingest(address.document_id, clock.nowMs());
        return { document: view(address.document_id, record), is_started: isStarted };
      } finally {
        work.wake();
      }
    },

    async pruneAvatars({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const inUse = await mediaInUse(context, user_id);
      const deleted = unusedAvatars(store.documentsOf(user_id, workspace_id), inUse);
      for (const documentId of deleted) await removeDocument(documentId);
      return { deleted, count: deleted.length };
    },

    async manifest({ user_id, workspace_id, limit }) {
      const workspace = await workspaceOf(user_id, workspace_id);
      const found = store.documentsOf(user_id, workspace_id, limit);
      return {
        workspace: viewWorkspace(workspace),
        documents: found.map(({ documentId, record }) => viewDocument(documentId, record)),
        total: workspace.documentCount,
      };
    },

    findDocument: (address) => ({ document: viewDocument(address.document_id, documentOf(address)) }),

    async readText({ offset = 0, limit = TEXT_PAGE_LENGTH_DEFAULT, ...address }) {
      const { record, blob } = await openBlobOf(blobs, () => documentOf(address));
      try {
        if (!isText(record.contentType)) throw notText(record.filename);
        const { text, totalChars } = await readPage(blob, offset, limit);
        const end = offset + text.length;
        return {
          document: viewDocument(address.document_id, record),
          text,
          offset,
          total_chars: totalChars,
          next_offset: end < totalChars && text !== '' ? end : null,
        };
      } finally {
        await blob.close();
      }
    },

    findDocuments: ({ user_id, documents }) => ({
      documents: documents.map(({ workspace_id, document_id }) => {
        const record = store.findDocument(document_id);
        const isThere = record?.userId === user_id && record.workspaceId === workspace_id;
        return isThere ? viewDocument(document_id, record) : null;
      }),
    }),
  };
}
