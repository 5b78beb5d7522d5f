// Desk: what the parts of the workspaces actor work with. All of it lives as long as that actor, on its thread.

import type { RandomSource } from '../../std/ids.ts';
import type { Blobs } from '../../storage/contract.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Progress } from './progress.ts';
import type { DocumentAddress, workspaces } from './protocol.ts';
import type { DocumentRecord, WorkspaceRecord } from './record.ts';
import type { WorkspaceStore } from './store.ts';
import type { Limits } from './uploads.ts';
import type { WakeUps } from './wake-ups.ts';

export interface Desk {
  readonly context: ActorContext<typeof workspaces>;
  readonly store: WorkspaceStore;
  readonly blobs: Blobs;
  /** To be woken when something new is pending or removed. */
  readonly work: WakeUps;
  readonly progress: Progress;
  /** To be called when something was deleted, or refused. */
  readonly cleanSoon: () => void;
  /** Home is made when it is first looked for. @throws workspace_not_found */
  workspaceOf(userId: string, workspaceId: string): Promise<WorkspaceRecord>;
  /** @throws document_not_found */
  documentOf(address: DocumentAddress): DocumentRecord;
  /** As they are set now. */
  limitsNow(): Promise<Limits>;
}

const DOCUMENT_ID_DIGITS = 16;

export function newDocumentId(random: RandomSource): string {
  return `doc_${random.hex(DOCUMENT_ID_DIGITS)}`;
}
