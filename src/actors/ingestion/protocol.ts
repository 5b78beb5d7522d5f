// Ingestion: what documents say. It reads them in the background, and answers with pages and passages of what it has read.
// G1 What is found and read of a document is always of one revision: a newer one takes its place at once, when all of it is
//    there. A document that has failed or was deleted is not found any more.
// G2 No file costs more than itself: whatever it does to its reader, the others are read, and it ends as `failed` with a reason.
// G3 A document that was pending when the service ended is read by the next one. A file during whose reading the service
//    ended again and again is given up.
// G4 Workspaces take turns, whoever uploads how much.
// G5 A newer revision and a deletion stop the reading of an older one.

import { declareFaults } from '../../std/errors.ts';
import { call, protocol, tell } from '../../supervisor/protocol.ts';
import type { IngestionStage } from '../workspaces/protocol.ts';

export const ingestionFaults = declareFaults({
  /** The document is still being read, could not be read, or is of a kind that is not read. */
  text_not_there: 'not_found',
});

export const PASSAGES_MAX = 20;

export interface FoundPassage {
  readonly document_id: string;
  readonly text: string;
  /** Lines of the document's text, from 1; of a PDF the page. */
  readonly line: number;
  readonly line_end: number;
  readonly page: number | null;
  /** Higher is better; comparable within one answer. */
  readonly score: number;
}

export interface TextPage {
  readonly text: string;
  readonly offset: number;
  readonly total_chars: number;
  /** Where the next page begins; null behind the last. */
  readonly next_offset: number | null;
}

export const ingestion = protocol('ingestion', {
  // Between actors only.
  /** A page of what was read of a document. Whether the asker may see it is for the asker to know. */
  text: call<{ readonly document_id: string; readonly offset: number; readonly limit: number }, TextPage>({
    faults: ingestionFaults,
  }),
  /** The passages of a workspace's documents that answer a question best. */
  passages: call<
    { readonly user_id: string; readonly workspace_id: string; readonly query: string; readonly k: number },
    { readonly passages: readonly FoundPassage[]; readonly by: 'words_and_meaning' | 'words' }
  >(),
  /** From the reader: how far it is. */
  progressed: tell<{
    readonly document_id: string;
    readonly revision: number;
    readonly stage: IngestionStage;
    /** Of the stage, from 0 to 1; null where nobody knows. */
    readonly fraction: number | null;
  }>(),
});
