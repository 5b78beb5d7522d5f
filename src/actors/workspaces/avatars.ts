// Avatars: which of the files under `avatars/` nobody uses any more. Whoever may name one answers for it here, and here alone.
// V1 When one of them cannot answer, nothing is pruned: not knowing who uses a file is no reason to delete it.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { DocumentRecord } from './record.ts';

/** The media that the records of one noun name, as `media:{workspace_id}/{document_id}`. Faults where it cannot tell. */
export type MediaReferences = (context: ActorContext, userId: string) => Promise<Iterable<string>>;

/** A noun whose records name avatars adds itself. */
const REFERRING: readonly MediaReferences[] = [];

const AVATARS_FOLDER = 'avatars/';

/** V1. @throws what kept one from answering */
export async function mediaInUse(context: ActorContext, userId: string): Promise<ReadonlySet<string>> {
  const named = await Promise.all(REFERRING.map((references) => references(context, userId)));
  return new Set(named.flatMap((references) => [...references]));
}

export function unusedAvatars(
  documents: readonly { readonly documentId: string; readonly record: DocumentRecord }[],
  inUse: ReadonlySet<string>,
): string[] {
  return documents
    .filter(({ documentId, record: { filename, workspaceId } }) => {
      return filename.startsWith(AVATARS_FOLDER) && !inUse.has(`media:${workspaceId}/${documentId}`);
    })
    .map(({ documentId }) => documentId);
}
