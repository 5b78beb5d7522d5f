// Writing: documents that are text, written by a client or by a model.
// `expected_sha256` is compared only where something would change: the same text again is answered as done.

import type { Handlers } from '../../supervisor/actor.ts';
import { typeOfFilename } from './content-types.ts';
import { type Desk, newDocumentId } from './desk.ts';
import { parseFilename } from './filename.ts';
import type { workspaces } from './protocol.ts';
import { type Content, type DocumentRecord, viewDocument } from './record.ts';
import { documentRefusals } from './refusals.ts';
import { edited } from './stored-text.ts';
import { assertWritable, changeText, withTextPlaced } from './texts.ts';
import type { Limits } from './uploads.ts';

type WritingMessages = Pick<
  Handlers<typeof workspaces>,
  'createText' | 'updateText' | 'appendText' | 'editText'
>;

export function writingHandlers(desk: Desk): WritingMessages {
  const { context, store, blobs, work, cleanSoon, workspaceOf, documentOf, limitsNow } = desk;
  const { clock, random } = context;

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

  return {
    async createText({ user_id, workspace_id, filename, content }) {
      const name = parseFilename(filename);
      assertWritable(name);
      await workspaceOf(user_id, workspace_id);
      const documentId = newDocumentId(random);
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
  };
}
