// Ingestion's side: what waits to be read or forgotten, and what came of it. Whoever reads documents pulls from here.

import type { Handlers } from '../../supervisor/actor.ts';
import type { Desk } from './desk.ts';
import type { workspaces } from './protocol.ts';
import { viewPending } from './record.ts';

type IngestionMessages = Pick<
  Handlers<typeof workspaces>,
  | 'workAppeared'
  | 'pendingDocuments'
  | 'removedDocuments'
  | 'ingestionProgressed'
  | 'ingested'
  | 'ingestFailed'
  | 'forgotten'
>;

export function ingestionHandlers({ store, blobs, work, progress }: Desk): IngestionMessages {
  return {
    workAppeared(_message, { signal }) {
      // Who follows now has begun nothing yet.
      progress.clear();
      return work.follow(signal);
    },

    pendingDocuments({ limit }) {
      const found = store.pending(limit).map(({ documentId, record }) => {
        return viewPending(documentId, record, blobs.pathOf(record.sha256));
      });
      return { documents: found };
    },

    removedDocuments({ limit }) {
      const documents = store.owed(limit).map(({ userId, workspaceId, documentId }) => {
        return { user_id: userId, workspace_id: workspaceId, document_id: documentId };
      });
      return { documents };
    },

    ingestionProgressed({ document_id, revision, progress: told }) {
      if (told === null) progress.forget(document_id);
      else progress.tell(document_id, { revision, ...told });
    },

    async ingested({ document_id, revision, tags, summary, chunk_count }) {
      const outcome = { status: 'ready', error: null, tags, summary, chunkCount: chunk_count } as const;
      return { accepted: await store.settle(document_id, revision, outcome) };
    },

    async ingestFailed({ document_id, revision, error }) {
      const outcome = { status: 'failed', error, chunkCount: 0 } as const;
      return { accepted: await store.settle(document_id, revision, outcome) };
    },

    async forgotten({ document_ids }) {
      await store.settleOwed(document_ids);
      return {};
    },
  };
}
