// Workspaces: projects, their documents, and which conversation belongs to which project. Owner of all of it.
// W1 A document's content is a blob (see storage/contract.ts): durable before it is acknowledged, shared by equal documents,
//    deleted with the last of them. Nothing of a refused or abandoned upload stays behind.
// W2 An upload is told in pieces: begin, write one piece after the other, finish. Size and quota are checked before a piece is
//    kept, so that uploads at the same time cannot exceed a quota together.
// W3 A filename is unique in its workspace. A document's id, and its workspace's, never change.
// W4 Every change of a document's content gives it a new `revision` and makes it pending. What ingestion says about an older
//    revision changes nothing. Media are ready at once.
// W5 A deletion takes effect at once and is finished in the background, after a restart too. What ingestion keeps about a
//    deleted document is owed to it (`removedDocuments`) until it says that it is gone (`forgotten`).
// W6 A conversation belongs to at most one project. Home holds what belongs to no project, and is not one.

import { declareFaults } from '../../std/errors.ts';
import { type Static, Type } from '../../std/schema.ts';
import { call, protocol, stream, tell } from '../../supervisor/protocol.ts';
import { ConversationRow } from '../conversations/protocol.ts';

/** The personal space of each user: made on first use. */
export const HOME_ID = 'ws_home';
export const HOME_NAME = 'Home';

export const ID_LENGTH_MAX = 128;
export const WORKSPACE_NAME_LENGTH_MAX = 200;
export const DESCRIPTION_LENGTH_MAX = 500;
export const INSTRUCTIONS_LENGTH_MAX = 8000;
/** Of a filename with its folder. */
export const FILENAME_LENGTH_MAX = 200;
/** What is written as text, by a client or a model, is held in memory: no book is longer. */
export const TEXT_BYTES_MAX = 8 * 1024 * 1024;
/** Extensions of the documents whose text may be written. */
export const WRITABLE_EXTENSIONS: readonly string[] = ['md', 'markdown', 'txt'];
export const PROJECT_CONVERSATIONS_MAX = 100;
export const TEXT_PAGE_LENGTH_DEFAULT = 12_000;

export const workspaceFaults = declareFaults({
  workspace_not_found: 'not_found',
  document_not_found: 'not_found',
  membership_not_found: 'not_found',
  workspace_invalid: 'invalid',
  filename_invalid: 'invalid',
  /** Details: `code: 'conflict'`, `document_id`, `current_sha256`. */
  document_conflict: 'conflict',
  document_type_unsupported: 'unsupported',
  document_too_large: 'too_large',
  quota_exceeded: 'too_large',
  /** Details: `code`, which is `unsupported`, `too_large` or `quota_exceeded`. */
  media_refused: 'unprocessable',
  /** It was given up: by its sender, by its silence, or with a restart. */
  upload_lost: 'unavailable',
  uploads_full: 'unavailable',
});
const faults = workspaceFaults;
const { workspace_not_found, document_not_found, document_conflict } = faults;
const inWorkspace = { workspace_not_found };
const ofDocument = { workspace_not_found, document_not_found };
const ofText = {
  document_type_unsupported: faults.document_type_unsupported,
  document_too_large: faults.document_too_large,
  quota_exceeded: faults.quota_exceeded,
};
const ofPieces = {
  upload_lost: faults.upload_lost,
  uploads_full: faults.uploads_full,
};
const ofUpload = { ...ofText, ...ofPieces };
const ofMedia = { ...ofPieces, media_refused: faults.media_refused };

const Text = Type.String();
const Id = Type.String({ minLength: 1, maxLength: ID_LENGTH_MAX });
const user_id = Text;

export const SHELL_BACKENDS = ['bubblewrap', 'container'] as const;

export const Workspace = Type.Object({
  id: Text,
  name: Text,
  user_id: Text,
  description: Text,
  instructions: Text,
  allow_shell: Type.Boolean(),
  shell_backend: Type.Enum([...SHELL_BACKENDS]),
  document_count: Type.Integer(),
  used_bytes: Type.Integer(),
  created_at: Text,
  updated_at: Text,
});
export type Workspace = Static<typeof Workspace>;

export const DOCUMENT_STATUSES = ['pending', 'ready', 'failed'] as const;

/** What is done with a pending document, one after the other. */
export const INGESTION_STAGES = ['waiting', 'reading', 'embedding', 'describing'] as const;
export type IngestionStage = (typeof INGESTION_STAGES)[number];

export const Document = Type.Object({
  id: Text,
  workspace_id: Text,
  filename: Text,
  content_type: Text,
  size_bytes: Type.Integer(),
  sha256: Text,
  tags: Type.Array(Text),
  summary: Text,
  chunk_count: Type.Integer(),
  status: Type.Enum([...DOCUMENT_STATUSES]),
  error: Type.Union([Text, Type.Null()]),
  progress: Type.Union(
    [
      Type.Object({
        stage: Type.Enum([...INGESTION_STAGES]),
        fraction: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
          description: 'How much of the stage is done; null where that is not known.',
        }),
      }),
      Type.Null(),
    ],
    { description: 'How far the reading of a pending document is; null for one that is not pending.' },
  ),
  created_at: Text,
  updated_at: Text,
});
export type Document = Static<typeof Document>;

const DocumentReply = Type.Object({ document: Document });
const WorkspaceReply = Type.Object({ workspace: Workspace });

/** What the edge knows about a file before its content has come. */
const FileHead = Type.Object({
  filename: Text,
  /** As the sender says; empty when it does not. */
  content_type: Text,
  /** At least so many bytes will come; 0 when nobody knows. */
  bytes_min: Type.Integer({ minimum: 0 }),
});
export type FileHead = Static<typeof FileHead>;

const UploadReply = Type.Object({ upload_id: Text });

/** Both inclusive; `{ last }` alone means that many bytes of the end. */
export interface ByteRange {
  readonly first?: number;
  readonly last?: number;
}

/** The first item of `raw`. */
export interface RawHead {
  readonly filename: string;
  readonly content_type: string;
  readonly sha256: string;
  readonly size_bytes: number;
  /** The bytes that follow: all of them, those asked for, or null where these lie behind the end. */
  readonly range: { readonly first: number; readonly last: number } | null;
}

/** What an ingestion needs to know about a document that waits for it. */
export interface PendingDocument {
  readonly user_id: string;
  readonly workspace_id: string;
  readonly document_id: string;
  /** W4. To be handed back with what came of it. */
  readonly revision: number;
  readonly filename: string;
  readonly content_type: string;
  readonly size_bytes: number;
  readonly sha256: string;
  /** Where the bytes lie, for any thread. Gone when the document was deleted or changed meanwhile. */
  readonly path: string;
}

export interface DocumentAddress {
  readonly user_id: string;
  readonly document_id: string;
  /** Only if it lies there; anywhere of this user's when absent. */
  readonly workspace_id?: string;
}

export interface StoredMedia {
  readonly document_id: string;
  readonly workspace_id: string;
  readonly media_type: string;
  readonly filename: string;
  /** As exhibits name it. */
  readonly url: string;
}

const address = { user_id, workspace_id: Id, document_id: Id };

export const workspaces = protocol('workspaces', {
  list: call({
    summary: 'The workspaces of the user, Home first.',
    request: Type.Object({ user_id }),
    reply: Type.Object({ workspaces: Type.Array(Workspace) }),
  }),
  create: call({
    summary: 'Creates a project.',
    request: Type.Object({
      user_id,
      name: Type.String({ minLength: 1, maxLength: WORKSPACE_NAME_LENGTH_MAX }),
    }),
    reply: WorkspaceReply,
    faults: { workspace_invalid: faults.workspace_invalid },
  }),
  read: call({
    summary: 'One workspace, with how much is in it.',
    request: Type.Object({ user_id, workspace_id: Id }),
    reply: WorkspaceReply,
    faults: inWorkspace,
  }),
  update: call({
    summary: 'Changes a workspace; what is not named stays as it is.',
    request: Type.Object({
      user_id,
      workspace_id: Id,
      name: Type.Optional(Type.String({ minLength: 1, maxLength: WORKSPACE_NAME_LENGTH_MAX })),
      description: Type.Optional(Type.String({ maxLength: DESCRIPTION_LENGTH_MAX })),
      instructions: Type.Optional(Type.String({ maxLength: INSTRUCTIONS_LENGTH_MAX })),
      allow_shell: Type.Optional(Type.Boolean()),
      shell_backend: Type.Optional(Type.Enum([...SHELL_BACKENDS])),
    }),
    reply: WorkspaceReply,
    faults: { ...inWorkspace, workspace_invalid: faults.workspace_invalid },
  }),
  remove: call({
    summary: 'Deletes a project with its documents; its conversations stay, in no project.',
    request: Type.Object({ user_id, workspace_id: Id }),
    reply: Type.Object({ status: Text, workspace_id: Text }),
    faults: { ...inWorkspace, workspace_invalid: faults.workspace_invalid },
  }),

  documents: call({
    summary: 'The manifest of a workspace: all its documents, by filename.',
    request: Type.Object({ user_id, workspace_id: Id }),
    reply: Type.Object({ documents: Type.Array(Document) }),
    faults: inWorkspace,
  }),
  /** W2. Refuses by name, type and announced size before any byte has come. A name that is taken gets a number. */
  beginUpload: call({
    summary: 'Uploads a document; it is read in the background.',
    request: Type.Object({ user_id, workspace_id: Id, file: FileHead }),
    reply: UploadReply,
    faults: { ...inWorkspace, ...ofUpload, filename_invalid: faults.filename_invalid },
  }),
  finishUpload: call({
    request: Type.Object({ upload_id: Text }),
    reply: DocumentReply,
    faults: { ...inWorkspace, ...ofUpload },
  }),
  /** An image, audio or video of a chat, which goes to Home. Its type is what its first bytes say. */
  beginMedia: call({
    summary: 'Uploads an image, audio or video for a chat turn, into Home.',
    request: Type.Object({ user_id, file: FileHead }),
    reply: UploadReply,
    faults: ofMedia,
  }),
  finishMedia: call({
    request: Type.Object({ upload_id: Text }),
    reply: Type.Object({
      ok: Type.Boolean(),
      doc_id: Text,
      workspace_id: Text,
      media_type: Text,
      url: Text,
    }),
    faults: ofMedia,
  }),
  /** One piece after the other: the next when the last is answered. */
  writeUpload: call<{ readonly upload_id: string; readonly bytes: Uint8Array }, Record<string, never>>({
    faults: { ...ofUpload, ...ofMedia },
  }),
  abandonUpload: tell<{ readonly upload_id: string }>(),
  createText: call({
    summary: 'Writes a new text document (md, markdown or txt); its filename may name one folder.',
    request: Type.Object({
      user_id,
      workspace_id: Id,
      filename: Type.String({ minLength: 1 }),
      content: Text,
    }),
    reply: DocumentReply,
    faults: { ...inWorkspace, ...ofText, document_conflict, filename_invalid: faults.filename_invalid },
  }),
  updateText: call({
    summary: 'Replaces the text of a document, which is read anew; the same text changes nothing.',
    request: Type.Object({
      ...address,
      content: Text,
      expected_sha256: Type.Optional(Text),
    }),
    reply: DocumentReply,
    faults: { ...ofDocument, ...ofText, document_conflict },
  }),
  document: call({
    summary: 'One document.',
    request: Type.Object(address),
    reply: DocumentReply,
    faults: ofDocument,
  }),
  rename: call({
    summary: 'Renames a document within its folder; its extension stays.',
    request: Type.Object({ ...address, name: Type.String({ minLength: 1 }) }),
    reply: DocumentReply,
    faults: { ...ofDocument, document_conflict, filename_invalid: faults.filename_invalid },
  }),
  removeDocument: call({
    summary: 'Deletes a document.',
    request: Type.Object(address),
    reply: Type.Object({ status: Text, document_id: Text }),
    faults: ofDocument,
  }),
  /** A `RawHead`, then the bytes in pieces, as they were when the head was given. */
  raw: stream({
    summary: 'The bytes of a document, or a range of them.',
    request: Type.Object({ ...address, range: Type.Optional(Type.Unsafe<ByteRange>({})) }),
    reply: Type.Unsafe<RawHead | Uint8Array>({}),
    faults: ofDocument,
  }),
  /** `is_started` is false where there was nothing to do: it waits already, or is never read (media). */
  reingest: call({
    summary: 'Reads a document anew; one that waits to be read is left alone.',
    request: Type.Object(address),
    reply: Type.Object({ document: Document, is_started: Type.Boolean() }),
    faults: ofDocument,
  }),
  pruneAvatars: call({
    summary:
      'Deletes the files under avatars/ that no agent profile uses; none as long as there are no profiles.',
    request: Type.Object({ user_id, workspace_id: Id }),
    reply: Type.Object({ deleted: Type.Array(Text), count: Type.Integer() }),
    faults: inWorkspace,
  }),

  conversations: call({
    summary: 'The conversations of a project, newest activity first; archived ones left out.',
    request: Type.Object({ user_id, workspace_id: Id }),
    reply: Type.Object({
      conversations: Type.Array(ConversationRow),
      total: Type.Integer(),
    }),
    faults: inWorkspace,
  }),
  link: call({
    summary: 'Puts a conversation into a project, out of any other.',
    request: Type.Object({ user_id, workspace_id: Id, conversation_id: Id }),
    reply: Type.Object({ status: Text, workspace_id: Text, conversation_id: Text }),
    faults: { ...inWorkspace, workspace_invalid: faults.workspace_invalid },
  }),
  unlink: call({
    summary: 'Takes a conversation out of a project.',
    request: Type.Object({ user_id, workspace_id: Id, conversation_id: Id }),
    reply: Type.Object({ status: Text, workspace_id: Text, conversation_id: Text }),
    faults: { ...inWorkspace, membership_not_found: faults.membership_not_found },
  }),

  // Between actors only: conversations.
  /** The projects of these conversations; those in none are left out. */
  memberships: call<
    { readonly conversation_ids: readonly string[] },
    { readonly workspace_ids: Readonly<Record<string, string>> }
  >(),
  /** The conversation is gone. */
  conversationRemoved: call<{ readonly conversation_id: string }, Record<string, never>>(),

  // Between actors only: turns and their tools.
  /**
   * The workspace of a turn. The one that it names wins, and a project becomes the conversation's own (W6); one that is not
   * there is passed over. Otherwise the conversation's project.
   */
  resolveProject: call<
    { readonly user_id: string; readonly conversation_id: string; readonly workspace_id?: string },
    { readonly workspace: Workspace | null; readonly from: 'request' | 'membership' | null }
  >(),
  /** The project of a conversation; null for none. */
  projectOf: call<
    { readonly user_id: string; readonly conversation_id: string },
    { readonly workspace_id: string | null }
  >(),
  /** `documents` for tools: at most `limit` of them, and how many there are. */
  manifest: call<
    { readonly user_id: string; readonly workspace_id: string; readonly limit: number },
    { readonly workspace: Workspace; readonly documents: readonly Document[]; readonly total: number }
  >({ faults: inWorkspace }),
  findDocument: call<DocumentAddress, { readonly document: Document }>({ faults: ofDocument }),
  /** A page of a text document as it is stored, counted in characters (UTF-16 units). */
  readText: call<
    DocumentAddress & { readonly offset?: number; readonly limit?: number },
    {
      readonly document: Document;
      readonly text: string;
      readonly offset: number;
      readonly total_chars: number;
      /** Where the next page begins; null behind the last. */
      readonly next_offset: number | null;
    }
  >({ faults: { ...ofDocument, document_type_unsupported: faults.document_type_unsupported } }),
  appendText: call<
    DocumentAddress & { readonly text: string; readonly expected_sha256?: string },
    { readonly document: Document }
  >({ faults: { ...ofDocument, ...ofText, document_conflict } }),
  /** `replacements` is 0, and nothing changed, where the text is not found, or found more than once without `replace_all`. */
  editText: call<
    DocumentAddress & {
      readonly find: string;
      readonly replace: string;
      readonly replace_all?: boolean;
      readonly expected_sha256?: string;
    },
    { readonly document: Document; readonly found: number; readonly replacements: number }
  >({ faults: { ...ofDocument, ...ofText, document_conflict } }),
  /** Media that a tool made: into the conversation's project, or Home. The same types and caps as an upload's. */
  storeMedia: call<
    {
      readonly user_id: string;
      readonly conversation_id: string;
      readonly bytes: Uint8Array;
      readonly media_type: string;
      /** Of the file, without folder and extension; from the kind of media and the time when absent. */
      readonly name?: string;
    },
    StoredMedia
  >({ faults: { media_refused: faults.media_refused } }),
  /** What lies there, in the order of the question; null where nothing of this user's does. For who reads blobs himself. */
  findDocuments: call<
    {
      readonly user_id: string;
      readonly documents: readonly { readonly workspace_id: string; readonly document_id: string }[];
    },
    { readonly documents: readonly (Document | null)[] }
  >(),

  // Between actors only: ingestion.
  /** An item at once, and one whenever there is something new among the pending or the removed documents. */
  workAppeared: stream<Record<string, never>, Record<string, never>>(),
  /**
   * Documents that wait to be read, those first that wait longest. Where more wait than are asked for, other workspaces have some of
   * them, however many one has.
   */
  pendingDocuments: call<{ readonly limit: number }, { readonly documents: readonly PendingDocument[] }>(),
  /** W5. */
  removedDocuments: call<
    { readonly limit: number },
    {
      readonly documents: readonly {
        readonly user_id: string;
        readonly workspace_id: string;
        readonly document_id: string;
      }[];
    }
  >(),
  /** How far the reading of a revision is; null when it is not read any more, for now or for good. */
  ingestionProgressed: tell<{
    readonly document_id: string;
    readonly revision: number;
    readonly progress: { readonly stage: IngestionStage; readonly fraction: number | null } | null;
  }>(),
  /** W4. `accepted` is false when the document is gone or has changed meanwhile: then nothing of it may be kept. */
  ingested: call<
    {
      readonly document_id: string;
      readonly revision: number;
      readonly tags: readonly string[];
      readonly summary: string;
      readonly chunk_count: number;
    },
    { readonly accepted: boolean }
  >(),
  ingestFailed: call<
    { readonly document_id: string; readonly revision: number; readonly error: string },
    { readonly accepted: boolean }
  >(),
  /** W5. */
  forgotten: call<{ readonly document_ids: readonly string[] }, Record<string, never>>(),
});
