// Raw: the bytes of a document as a stream, its head first.
// R1 The head and what follows are of one content, whatever becomes of the document meanwhile: the blob is open by then.
// R2 The blob is closed when the reader leaves, too.

import { isFault } from '../../std/errors.ts';
import type { Blobs, OpenBlob } from '../../storage/contract.ts';
import type { ByteRange, RawHead } from './protocol.ts';
import type { DocumentRecord } from './record.ts';

export async function* rawOf(
  blobs: Blobs,
  find: () => DocumentRecord,
  range: ByteRange | undefined,
): AsyncGenerator<RawHead | Uint8Array, void, undefined> {
  const { record, blob } = await openBlobOf(blobs, find);
  try {
    const bytes = rangeWithin(range, blob.sizeBytes);
    yield {
      filename: record.filename,
      content_type: record.contentType,
      sha256: record.sha256,
      size_bytes: blob.sizeBytes,
      range: bytes,
    };
    if (bytes !== null) yield* blob.read(bytes.first, bytes.last);
  } finally {
    await blob.close();
  }
}

/** R1. Between the record and its blob the content may change once or twice, not again and again. */
export async function openBlobOf(
  blobs: Blobs,
  find: () => DocumentRecord,
): Promise<{ readonly record: DocumentRecord; readonly blob: OpenBlob }> {
  for (;;) {
    const record = find();
    try {
      return { record, blob: await blobs.open(record.sha256) };
    } catch (error) {
      if (!isFault(error, 'blob_missing') || find().sha256 === record.sha256) throw error;
    }
  }
}

/** Of nothing, the whole is an empty range. */
function rangeWithin(range: ByteRange | undefined, sizeBytes: number): RawHead['range'] {
  if (range === undefined) return { first: 0, last: sizeBytes - 1 };
  const { first, last } = range;
  if (first === undefined) {
    const length = Math.min(last ?? 0, sizeBytes);
    return length === 0 ? null : { first: sizeBytes - length, last: sizeBytes - 1 };
  }
  return first >= sizeBytes ? null : { first, last: Math.min(last ?? sizeBytes, sizeBytes - 1) };
}
