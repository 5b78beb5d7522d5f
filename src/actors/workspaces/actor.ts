// Workspaces actor: one on the edge thread, the only writer of its tables and of blobs. Its parts are the nouns of the
// protocol; what is left to do after a deletion goes on by itself (cleaning.ts).
// Where the wire format leaves a choice:
// - Home is not renamed and not deleted; a conversation is not linked to it.
// - An upload whose filename is taken gets a number, `plan (2).md`; a text that is created under a taken name is refused.
// - A turn that names a workspace which is not there has its conversation's project.

import { type ActorContext, actor, type Handlers } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { startCleaning } from './cleaning.ts';
import type { Desk } from './desk.ts';
import { documentHandlers } from './documents.ts';
import { ingestionHandlers } from './ingestion-work.ts';
import { intakeHandlers } from './intake.ts';
import { Progress } from './progress.ts';
import { projectHandlers } from './projects.ts';
import { workspaces } from './protocol.ts';
import { unknownDocument, WorkspaceStore } from './store.ts';
import { WakeUps } from './wake-ups.ts';
import { writingHandlers } from './writing.ts';

import '../services.ts';

export const workspacesActor = actor({
  module: import.meta.url,
  exportName: 'workspacesActor',
  protocol: workspaces,
  setup(context: ActorContext<typeof workspaces>): Handlers<typeof workspaces> {
    const desk = deskOf(context);
    return {
      ...projectHandlers(desk),
      ...documentHandlers(desk),
      ...intakeHandlers(desk),
      ...writingHandlers(desk),
      ...ingestionHandlers(desk),
    };
  },
});

function deskOf(context: ActorContext<typeof workspaces>): Desk {
  const { storage } = context.services;
  const store = new WorkspaceStore(storage);
  const work = new WakeUps();
  return {
    context,
    store,
    blobs: storage.blobs,
    work,
    progress: new Progress(),
    cleanSoon: startCleaning(context, store, storage.blobs, work),

    workspaceOf: (userId, workspaceId) => store.workspace(userId, workspaceId, context.clock.nowMs()),

    documentOf({ user_id, workspace_id, document_id }) {
      const record = store.findDocument(document_id);
      const isThere =
        record?.userId === user_id && (workspace_id === undefined || record.workspaceId === workspace_id);
      if (!isThere) throw unknownDocument();
      return record;
    },

    async limitsNow() {
      const settings = await context.ask(config, 'settings', {});
      return {
        fileBytesMax: settings['workspaces.file_bytes_max'],
        quotaBytes: settings['workspaces.quota_bytes'],
      };
    },
  };
}
