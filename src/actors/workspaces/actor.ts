// Workspaces actor: one on the edge thread, the only writer of its tables and of blobs. Reads come from the store, uploads
// are in uploads.ts, texts in texts.ts; what is left to do after a deletion goes on by itself (cleaning.ts).
// Where the wire format leaves a choice:
// - Home is not renamed and not deleted; a conversation is not linked to it.
// - An upload whose filename is taken gets a number, `plan (2).md`; a text that is created under a taken name is refused.
// - `expected_sha256` is compared only where something would change: the same text again is answered as done.
// - A turn that names a workspace which is not there has its conversation's project.

import { type ActorContext, actor, type Handlers } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { conversations } from '../conversations/protocol.ts';
import { mediaInUse, unusedAvatars } from './avatars.ts';
import { startCleaning } from './cleaning.ts';
import { isText, typeOfFilename, UPLOAD_EXTENSIONS } from './content-types.ts';
import { parseFilename, renamed } from './filename.ts';
import { mayBeMedia, mediaFilename } from './media-type.ts';
import {
  type DocumentAddress,
  HOME_ID,
  ID_LENGTH_MAX,
  PROJECT_CONVERSATIONS_MAX,
  type StoredMedia,
  TEXT_PAGE_LENGTH_DEFAULT,
  workspaceFaults,
  workspaces,
} from './protocol.ts';
import { openBlobOf, rawOf } from './raw.ts';
import {
  type Content,
  type DocumentRecord,
  newWorkspace,
  rawUrl,
  viewDocument,
  viewPending,
  viewWorkspace,
} from './record.ts';
import { documentRefusals, mediaRefusals } from './refusals.ts';
import { unknownDocument, WorkspaceStore } from './store.ts';
import { edited, readPage } from './stored-text.ts';
import { assertWritable, changeText, notText, withTextPlaced } from './texts.ts';
import { type Limits, type Upload, type UploadPlan, Uploads } from './uploads.ts';
import { WakeUps } from './wake-ups.ts';

import '../services.ts';

const WORKSPACE_ID_DIGITS = 12;
const DOCUMENT_ID_DIGITS = 16;
const UPLOAD_ID_DIGITS = 32;
const SILENT_UPLOADS_EVERY_MS = 60_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const workspacesActor = actor({
  module: import.meta.url,
  exportName: 'workspacesActor',
  protocol: workspaces,
  setup: setUpWorkspaces,
});

function setUpWorkspaces(context: ActorContext<typeof workspaces>): Handlers<typeof workspaces> {
  const { clock, random } = context;
  const { storage } = context.services;
  const { blobs } = storage;
  const store = new WorkspaceStore(storage);
  const { memberships } = store;
  const uploads = new Uploads({
    blobs,
    clock,
    usedBytes: ({ userId, workspaceId }) => store.findWorkspace(userId, workspaceId)?.usedBytes ?? 0,
  });
  const work = new WakeUps();
  const cleanSoon = startCleaning(context, store, blobs);
  context.every('silent uploads', SILENT_UPLOADS_EVERY_MS, () => context.background(uploads.abandonSilent()));
  context.onStop(() => uploads.abandonAll());

  const workspaceOf = (userId: string, workspaceId: string) =>
    store.workspace(userId, workspaceId, clock.nowMs());

  /** Undefined where there is none: of a workspace that is named in passing. */
  const foundWorkspace = async (userId: string, workspaceId: string) => {
    if (workspaceId === HOME_ID) return workspaceOf(userId, HOME_ID);
    return isFileable(workspaceId) ? store.findWorkspace(userId, workspaceId) : undefined;
  };

  /** The project of a conversation, if it is this user's. */
  const projectOf = (userId: string, conversationId: string): string | undefined => {
    const member = isFileable(conversationId) ? memberships.find(conversationId) : undefined;
    return member?.userId === userId ? member.workspaceId : undefined;
  };

  const documentOf = ({ user_id, workspace_id, document_id }: DocumentAddress): DocumentRecord => {
    const record = store.findDocument(document_id);
    const isThere =
      record?.userId === user_id && (workspace_id === undefined || record.workspaceId === workspace_id);
    if (!isThere) throw unknownDocument();
    return record;
  };

  const limitsNow = async (): Promise<Limits> => {
    const settings = await context.ask(config, 'settings', {});
    return {
      fileBytesMax: settings['workspaces.file_bytes_max'],
      quotaBytes: settings['workspaces.quota_bytes'],
    };
  };

  const beginUpload = async (plan: UploadPlan): Promise<{ upload_id: string }> => {
    const uploadId = random.hex(UPLOAD_ID_DIGITS);
    await uploads.begin(uploadId, plan);
    return { upload_id: uploadId };
  };

  /** Enters what was uploaded as a document. */
  const enterUpload = async (uploadId: string): Promise<{ documentId: string; record: DocumentRecord }> => {
    const upload = await uploads.finish(uploadId);
    try {
      return await enter(upload);
    } finally {
      upload.blob.letGo();
      upload.release();
      cleanSoon();
    }
  };

  const enter = async ({ plan, blob, mediaType }: Pick<Upload, 'plan' | 'blob' | 'mediaType'>) => {
    const documentId = newDocumentId();
    const atMs = clock.nowMs();
    const { userId, workspaceId, file, limits, refuse } = plan;
    const isMedia = file.kind === 'media';
    const record = await store.add({
      userId,
      workspaceId,
      documentId,
      filename: isMedia ? mediaFilename(file.name, mediaType, atMs) : file.filename,
      contentType: isMedia ? mediaType : file.contentType,
      content: { sha256: blob.sha256, sizeBytes: blob.sizeBytes, atMs },
      whenTaken: isMedia ? 'dash' : 'brackets',
      quota: { bytesMax: limits.quotaBytes, refuse },
    });
    if (record.status === 'pending') work.wake();
    return { documentId, record };
  };

  const newDocumentId = (): string => `doc_${random.hex(DOCUMENT_ID_DIGITS)}`;

  /** Writes a text to where `enter` puts it; ingestion hears of it. */
  const enterText = async (
    text: string,
    enterIt: (content: Content, limits: Limits) => Promise<DocumentRecord>,
  ): Promise<DocumentRecord> => {
    const limits = await limitsNow();
    try {
      return await withTextPlaced(blobs, text, limits.fileBytesMax, (content) =>
        enterIt({ ...content, atMs: clock.nowMs() }, limits),
      );
    } finally {
      work.wake();
      cleanSoon();
    }
  };

  const replaceText = (documentId: string, text: string, expectedSha256: string | undefined) =>
    enterText(text, (content, { quotaBytes }) =>
      store.replace({
        documentId,
        content,
        expectedSha256,
        quota: { bytesMax: quotaBytes, refuse: documentRefusals },
      }),
    );

  const removeDocument = async (documentId: string): Promise<void> => {
    await store.removeDocument(documentId, clock.nowMs());
    work.wake();
    cleanSoon();
  };

  return {
    async list({ user_id }) {
      await workspaceOf(user_id, HOME_ID);
      const records = store.workspacesOf(user_id);
      const isHome = ({ workspaceId }: { readonly workspaceId: string }) => workspaceId === HOME_ID;
      const sorted = [...records.filter(isHome), ...records.filter((record) => !isHome(record))];
      return { workspaces: sorted.map(viewWorkspace) };
    },

    async create({ user_id, name }) {
      const workspaceId = `ws_${random.hex(WORKSPACE_ID_DIGITS)}`;
      const record = newWorkspace(user_id, workspaceId, givenName(name), clock.nowMs());
      await store.create(record);
      return { workspace: viewWorkspace(record) };
    },

    async read({ user_id, workspace_id }) {
      return { workspace: viewWorkspace(await workspaceOf(user_id, workspace_id)) };
    },

    async update({ user_id, workspace_id, name, description, instructions, allow_shell, shell_backend }) {
      if (workspace_id === HOME_ID && name !== undefined) throw notWithHome('renamed');
      const change = {
        ...(name === undefined ? {} : { name: givenName(name) }),
        ...(description === undefined ? {} : { description: description.toWellFormed() }),
        ...(instructions === undefined ? {} : { instructions: instructions.toWellFormed() }),
        ...(allow_shell === undefined ? {} : { allowShell: allow_shell }),
        ...(shell_backend === undefined ? {} : { shellBackend: shell_backend }),
      };
      return { workspace: viewWorkspace(await store.change(user_id, workspace_id, change, clock.nowMs())) };
    },

    async remove({ user_id, workspace_id }) {
      if (workspace_id === HOME_ID) throw notWithHome('deleted');
      await store.removeWorkspace(user_id, workspace_id);
      cleanSoon();
      work.wake();
      return { status: 'deleted', workspace_id };
    },

    async documents({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const found = store.documentsOf(user_id, workspace_id);
      return { documents: found.map(({ documentId, record }) => viewDocument(documentId, record)) };
    },

    async beginUpload({ user_id, workspace_id, file }) {
      const limits = await limitsNow();
      await workspaceOf(user_id, workspace_id);
      const filename = parseFilename(file.filename);
      const contentType = typeOfFilename(filename);
      if (contentType === undefined) {
        throw documentRefusals.unsupported(`Files of these kinds are taken: ${UPLOAD_EXTENSIONS.join(', ')}`);
      }
      return beginUpload({
        userId: user_id,
        workspaceId: workspace_id,
        file: { kind: 'document', filename, contentType },
        bytesMin: file.bytes_min,
        limits,
        refuse: documentRefusals,
      });
    },

    async finishUpload({ upload_id }) {
      const { documentId, record } = await enterUpload(upload_id);
      return { document: viewDocument(documentId, record) };
    },

    async beginMedia({ user_id, file }) {
      const limits = await limitsNow();
      await workspaceOf(user_id, HOME_ID);
      if (!mayBeMedia(file.content_type)) {
        throw mediaRefusals.unsupported(`Images, audio and video are taken, not ${file.content_type}`);
      }
      return beginUpload({
        userId: user_id,
        workspaceId: HOME_ID,
        file: { kind: 'media', name: '', declaredType: file.content_type },
        bytesMin: file.bytes_min,
        limits,
        refuse: mediaRefusals,
      });
    },

    async finishMedia({ upload_id }) {
      const { documentId, record } = await enterUpload(upload_id);
      return {
        ok: true,
        doc_id: documentId,
        workspace_id: record.workspaceId,
        media_type: record.contentType,
        url: rawUrl(record.workspaceId, documentId),
      };
    },

    async writeUpload({ upload_id, bytes }) {
      await uploads.write(upload_id, bytes);
      return {};
    },

    abandonUpload({ upload_id }) {
      context.background(uploads.abandon(upload_id));
    },

    async createText({ user_id, workspace_id, filename, content }) {
      const name = parseFilename(filename);
      assertWritable(name);
      await workspaceOf(user_id, workspace_id);
      const documentId = newDocumentId();
      const record = await enterText(content, (placed, { quotaBytes }) =>
        store.add({
          userId: user_id,
          workspaceId: workspace_id,
          documentId,
          filename: name,
          contentType: typeOfFilename(name) ?? 'text/plain',
          content: placed,
          whenTaken: 'refuse',
          quota: { bytesMax: quotaBytes, refuse: documentRefusals },
        }),
      );
      return { document: viewDocument(documentId, record) };
    },

    async updateText({ document_id, content, expected_sha256, ...address }) {
      const { filename } = documentOf({ ...address, document_id });
      assertWritable(filename);
      return {
        document: viewDocument(document_id, await replaceText(document_id, content, expected_sha256)),
      };
    },

    document: (address) => ({ document: viewDocument(address.document_id, documentOf(address)) }),

    async rename({ name, ...address }) {
      const { filename } = documentOf(address);
      const record = await store.rename(address.document_id, renamed(filename, name), clock.nowMs());
      return { document: viewDocument(address.document_id, record) };
    },

    async removeDocument(address) {
      documentOf(address);
      await removeDocument(address.document_id);
      return { status: 'deleted', document_id: address.document_id };
    },

    raw: ({ range, ...address }) => rawOf(blobs, () => documentOf(address), range),

    async reingest(address) {
      documentOf(address);
      const { record, isStarted } = await store.reingest(address.document_id, clock.nowMs());
      if (isStarted) work.wake();
      return { document: viewDocument(address.document_id, record), is_started: isStarted };
    },

    async pruneAvatars({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const inUse = await mediaInUse(context, user_id);
      const deleted = unusedAvatars(store.documentsOf(user_id, workspace_id), inUse);
      for (const documentId of deleted) await removeDocument(documentId);
      return { deleted, count: deleted.length };
    },

    async conversations({ user_id, workspace_id }) {
      await workspaceOf(user_id, workspace_id);
      const conversation_ids = memberships.conversationsOf({ userId: user_id, workspaceId: workspace_id });
      const found = await context.ask(conversations, 'listed', {
        conversation_ids,
        limit: PROJECT_CONVERSATIONS_MAX,
      });
      const rows = found.conversations.map((row) => ({ ...row, workspace_id }));
      return { conversations: rows, total: found.total };
    },

    async link({ user_id, workspace_id, conversation_id }) {
      if (workspace_id === HOME_ID) throw notWithHome('given a conversation');
      if (!UUID.test(conversation_id)) throw invalid('conversation_id must be a UUID');
      await memberships.put(conversation_id, { userId: user_id, workspaceId: workspace_id });
      return { status: 'linked', workspace_id, conversation_id };
    },

    async unlink({ user_id, workspace_id, conversation_id }) {
      await workspaceOf(user_id, workspace_id);
      const was = await memberships.remove(conversation_id, { userId: user_id, workspaceId: workspace_id });
      if (!was) throw workspaceFaults.membership_not_found('The conversation is not in this project');
      return { status: 'unlinked', workspace_id, conversation_id };
    },

    memberships({ conversation_ids }) {
      const found = conversation_ids
        .filter(isFileable)
        .map((id) => [id, memberships.find(id)?.workspaceId] as const);
      return {
        workspace_ids: Object.fromEntries(
          found.filter((entry): entry is [string, string] => entry[1] !== undefined),
        ),
      };
    },

    async conversationRemoved({ conversation_id }) {
      if (isFileable(conversation_id)) await memberships.remove(conversation_id);
      return {};
    },

    async resolveProject({ user_id, conversation_id, workspace_id }) {
      const own = projectOf(user_id, conversation_id);
      const named = workspace_id === undefined ? undefined : await foundWorkspace(user_id, workspace_id);
      if (named !== undefined) {
        const isProject = named.workspaceId !== HOME_ID;
        if (isProject && named.workspaceId !== own && isFileable(conversation_id))
          await memberships.put(conversation_id, named);
        return { workspace: viewWorkspace(named), from: 'request' };
      }
      const record = own === undefined ? undefined : store.findWorkspace(user_id, own);
      if (record === undefined) return { workspace: null, from: null };
      return { workspace: viewWorkspace(record), from: 'membership' };
    },

    projectOf({ user_id, conversation_id }) {
      return { workspace_id: projectOf(user_id, conversation_id) ?? null };
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

    async appendText({ text, expected_sha256, ...address }) {
      const record = await changeText(blobs, {
        documentId: address.document_id,
        find: () => documentOf(address),
        expectedSha256: expected_sha256,
        change: (before) => before + text,
        replace: (changed, readSha256) => replaceText(address.document_id, changed, readSha256),
      });
      return { document: viewDocument(address.document_id, record) };
    },

    async editText({ find, replace, replace_all = false, expected_sha256, ...address }) {
      let found = 0;
      let replacements = 0;
      const record = await changeText(blobs, {
        documentId: address.document_id,
        find: () => documentOf(address),
        expectedSha256: expected_sha256,
        change: (before) => {
          const edit = edited(before, find, replace, replace_all);
          ({ found, replacements } = edit);
          return replacements === 0 ? null : edit.text;
        },
        replace: (changed, readSha256) => replaceText(address.document_id, changed, readSha256),
      });
      return { document: viewDocument(address.document_id, record), found, replacements };
    },

    async storeMedia({ user_id, conversation_id, bytes, media_type, name = '' }): Promise<StoredMedia> {
      const limits = await limitsNow();
      const { upload_id } = await beginUpload({
        userId: user_id,
        workspaceId: projectOf(user_id, conversation_id) ?? HOME_ID,
        file: { kind: 'media', name, declaredType: media_type },
        bytesMin: bytes.length,
        limits,
        refuse: mediaRefusals,
      });
      await uploads.write(upload_id, bytes);
      const { documentId, record } = await enterUpload(upload_id);
      return {
        document_id: documentId,
        workspace_id: record.workspaceId,
        media_type: record.contentType,
        filename: record.filename,
        url: rawUrl(record.workspaceId, documentId),
      };
    },

    async media({ bytes_max, ...address }) {
      const { record, blob } = await openBlobOf(blobs, () => documentOf(address));
      try {
        if (blob.sizeBytes > bytes_max) throw documentRefusals.tooLarge(bytes_max);
        const pieces: Uint8Array[] = [];
        for await (const piece of blob.read()) pieces.push(piece);
        return { document: viewDocument(address.document_id, record), bytes: Buffer.concat(pieces) };
      } finally {
        await blob.close();
      }
    },

    workAppeared: (_message, { signal }) => work.follow(signal),

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

const invalid = workspaceFaults.workspace_invalid;

function notWithHome(what: string) {
  return invalid(`Home cannot be ${what}`);
}

/** @throws workspace_invalid */
function givenName(name: string): string {
  const trimmed = name.toWellFormed().trim();
  if (trimmed === '') throw invalid('name must not be empty');
  return trimmed;
}

/** Ids come from clients and models; what cannot be a key belongs to nothing. */
function isFileable(id: string): boolean {
  return id !== '' && id.length <= ID_LENGTH_MAX && id.isWellFormed();
}
