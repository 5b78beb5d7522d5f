// PendingDocument: one that waits to be read, for tests of those who read it.

import type { PendingDocument } from '../../src/actors/workspaces/protocol.ts';

export function pendingDocument(more: Partial<PendingDocument> = {}): PendingDocument {
  return {
    user_id: 'default',
    workspace_id: 'ws_1',
    document_id: 'doc_1',
    revision: 1,
    filename: 'a.md',
    content_type: 'text/markdown',
    size_bytes: 1,
    sha256: '',
    path: '/nowhere',
    ...more,
  };
}
