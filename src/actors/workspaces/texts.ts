// Texts: documents that are written as text, by a client or by a model. Held in memory while they change, so they are bounded.
// T1 What was read to be edited is what is replaced: an edit that was overtaken is done again on what is there now.

import type { Blobs } from '../../storage/contract.ts';
import { isWritable } from './content-types.ts';
import { TEXT_BYTES_MAX, WRITABLE_EXTENSIONS, workspaceFaults } from './protocol.ts';
import { openBlobOf } from './raw.ts';
import type { Content, DocumentRecord } from './record.ts';
import { documentRefusals } from './refusals.ts';
import { assertExpected } from './store.ts';
import { readWhole } from './stored-text.ts';

/** Somebody else is editing the same document at the same moment, again and again. */
const OVERTAKEN_MAX = 5;

/** @throws document_type_unsupported */
export function assertWritable(filename: string): void {
  if (isWritable(filename)) return;
  throw documentRefusals.unsupported(`Text can be written to ${WRITABLE_EXTENSIONS.join(', ')} files only`);
}

/** Holds the text as a blob while it is entered. @throws document_too_large, storage_full */
export async function withTextPlaced<Result>(
  blobs: Blobs,
  text: string,
  fileBytesMax: number,
  enter: (content: Omit<Content, 'atMs'>) => Promise<Result>,
): Promise<Result> {
  const bytes = Buffer.from(text.toWellFormed(), 'utf8');
  const bytesMax = Math.min(TEXT_BYTES_MAX, fileBytesMax);
  if (bytes.length > bytesMax) throw documentRefusals.tooLarge(bytesMax);
  const draft = await blobs.draft();
  try {
    await draft.write(bytes);
    const placed = await draft.place();
    try {
      return await enter({ sha256: placed.sha256, sizeBytes: placed.sizeBytes });
    } finally {
      placed.letGo();
    }
  } finally {
    await draft.discard();
  }
}

export interface TextChange {
  readonly documentId: string;
  readonly find: () => DocumentRecord;
  readonly expectedSha256: string | undefined;
  /** Null changes nothing. */
  readonly change: (text: string) => string | null;
  readonly replace: (text: string, expectedSha256: string) => Promise<DocumentRecord>;
}

/** T1. @throws document_conflict, document_type_unsupported, document_too_large */
export async function changeText(blobs: Blobs, request: TextChange): Promise<DocumentRecord> {
  for (let overtaken = 0; ; overtaken += 1) {
    const { record, blob } = await openBlobOf(blobs, request.find);
    let text: string;
    try {
      assertWritable(record.filename);
      assertExpected(request.documentId, record, request.expectedSha256);
      if (blob.sizeBytes > TEXT_BYTES_MAX) throw documentRefusals.tooLarge(TEXT_BYTES_MAX);
      text = await readWhole(blob);
    } finally {
      await blob.close();
    }
    const changed = request.change(text);
    if (changed === null) return record;
    try {
      return await request.replace(changed, record.sha256);
    } catch (error) {
      const isOvertaken = request.find().sha256 !== record.sha256;
      if (!isOvertaken || overtaken === OVERTAKEN_MAX) throw error;
    }
  }
}

/** @throws document_type_unsupported */
export function notText(filename: string) {
  return workspaceFaults.document_type_unsupported(`${filename} holds no text as it is stored`, {
    details: { code: 'unsupported' },
  });
}
