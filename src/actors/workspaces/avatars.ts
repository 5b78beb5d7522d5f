// Avatars: which of the files under `avatars/` nobody uses any more. Whoever may name one answers for it here, and here alone.
// V1 Not knowing who uses a file is no reason to delete it: when one of them cannot answer, and while there is nobody to ask,
//    nothing is pruned.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { DocumentRecord } from './record.ts';

/** The media that the records of one noun name, as `media:{workspace_id}/{document_id}`. Faults where it cannot tell. */
export type MediaReferences = (context: ActorContext, userId: string) => Promise<Iterable<string>>;

/** A noun whose records name avatars adds itself. There is none yet: agents have no profiles of their own. */
const REFERRING: readonly MediaReferences[] = [];

const AVATARS_FOLDER = 'avatars/';

/** V1. Null when there is nobody to ask. @throws what kept one from answering */
export async function mediaInUse(context: ActorContext, userId: string): Promise<ReadonlySet<string> | null> {
  if (REFERRING.length === 0) return null;
  const named = await Promise.all(REFERRING.map((references) => references(context, userId)));
  return new Set(named.flatMap((references) => [...references]));
}

export function unusedAvatars(
  documents: readonly {
    readonly documentId: string;
    readonly record: Pick<DocumentRecord, 'filename' | 'workspaceId'>;
  }[],
  inUse: ReadonlySet<string> | null,
): string[] {
  if (inUse === null) return [];
  return documents
    .filter(({ documentId, record: { filename, workspaceId } }) => {
      return filename.startsWith(AVATARS_FOLDER) && !inUse.has(`media:${workspaceId}/${documentId}`);
    })
    .map(({ documentId }) => documentId);
}
