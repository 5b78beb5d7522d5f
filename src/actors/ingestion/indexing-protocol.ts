// Indexing: on a thread of its own as long as there is work, from the file to what can be found of it.

import { declareFaults } from '../../std/errors.ts';
import { call, protocol } from '../../supervisor/protocol.ts';
import type { PendingDocument } from '../workspaces/protocol.ts';

export const indexingFaults = declareFaults({
  /** Its parser was lost with its thread. */
  parser_lost: 'unprocessable',
  /** The service has ended too often while it was read. */
  document_given_up: 'unprocessable',
});

export interface Indexed {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly chunk_count: number;
}

export interface IndexOrder {
  readonly document: PendingDocument;
  readonly parseMs: number;
  readonly parserHeapMb: number;
}

export const indexing = protocol('indexing', {
  /** Faults of the parser come through. When it is answered, the revision is what is found and read of the document. */
  index: call<IndexOrder, Indexed>({ faults: indexingFaults }),
  /** Nothing of these documents is left when it is answered. */
  forget: call<{ readonly document_ids: readonly string[] }, Record<string, never>>(),
});
