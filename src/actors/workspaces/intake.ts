// Intake: files that come as bytes, in pieces over HTTP or whole from a tool, and become documents.

import type { Handlers } from '../../supervisor/actor.ts';
import { typeOfFilename, UPLOAD_EXTENSIONS } from './content-types.ts';
import { type Desk, newDocumentId } from './desk.ts';
import { parseFilename } from './filename.ts';
import { mayBeMedia, mediaFilename } from './media-type.ts';
import { HOME_ID, type StoredMedia, type workspaces } from './protocol.ts';
import { type DocumentRecord, rawUrl, viewDocument } from './record.ts';
import { documentRefusals, mediaRefusals } from './refusals.ts';
import { type Upload, type UploadPlan, Uploads } from './uploads.ts';

const UPLOAD_ID_DIGITS = 32;
const SILENT_UPLOADS_EVERY_MS = 60_000;

type IntakeMessages = Pick<
  Handlers<typeof workspaces>,
  | 'beginUpload'
  | 'finishUpload'
  | 'beginMedia'
  | 'finishMedia'
  | 'writeUpload'
  | 'abandonUpload'
  | 'storeMedia'
>;

export function intakeHandlers(desk: Desk): IntakeMessages {
  const { context, store, blobs, work, cleanSoon, workspaceOf, limitsNow } = desk;
  const { clock, random } = context;
  const uploads = new Uploads({
    blobs,
    clock,
    usedBytes: ({ userId, workspaceId }) => store.findWorkspace(userId, workspaceId)?.usedBytes ?? 0,
  });
  context.every('silent uploads', SILENT_UPLOADS_EVERY_MS, () => context.background(uploads.abandonSilent()));
  context.onStop(() => uploads.abandonAll());

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
      work.wake();
      cleanSoon();
    }
  };

  const enter = async ({ plan, blob, mediaType }: Pick<Upload, 'plan' | 'blob' | 'mediaType'>) => {
    const documentId = newDocumentId(random);
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
    return { documentId, record };
  };

  return {
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

    async storeMedia({ user_id, conversation_id, bytes, media_type, name = '' }): Promise<StoredMedia> {
      const limits = await limitsNow();
      const { upload_id } = await beginUpload({
        userId: user_id,
        workspaceId: store.memberships.projectOf(user_id, conversation_id) ?? HOME_ID,
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
  };
}
