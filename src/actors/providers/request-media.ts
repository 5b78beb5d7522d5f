// RequestMedia: the images and recordings of one request to a model, which hold some megabytes and are never held: each blob is
// opened before the request is made, and read piece by piece, as base64, while it is sent.
// R1 Until then a slot stands for the bytes in the request's JSON. Its name is random: no text of a conversation contains it.
// R2 What is gone by then is told in its place; the request is made nevertheless.
// R3 The length of the body is known beforehand: some servers take no other.

import { assert } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { Blobs, OpenBlob } from '../../storage/contract.ts';
import type { CompletionRequest, MediaRef, MediaSource } from './protocol.ts';

/** A JSON text on its way out. */
export interface SentBody {
  readonly bytes: number;
  /** Can be taken once. */
  readonly pieces: AsyncIterable<string>;
}

export interface Slot {
  readonly mediaType: string;
  /** Stands for the base64 text (R1). */
  readonly data: string;
}

export interface RequestMedia {
  /** Where the bytes go, or the text that is read in their place. */
  slotOf(ref: MediaRef): Slot | string;
  /** Null when the request has no slots: then it is an ordinary one. */
  bodyOf(request: object): SentBody | null;
  /** Lets go of what was not sent. */
  close(): Promise<void>;
}

const TOKEN_DIGITS = 32;

/** Of a request without any. */
export const NO_MEDIA: RequestMedia = {
  slotOf: (ref) => notShown(ref),
  bodyOf: () => null,
  close: async () => undefined,
};

export function hasMedia({ media }: CompletionRequest): boolean {
  return media !== undefined && Object.keys(media).length > 0;
}

/** Those of a request, opened. */
export async function openMedia(
  media: NonNullable<CompletionRequest['media']>,
  blobs: Blobs,
  random: RandomSource,
): Promise<RequestMedia> {
  const token = `slot-${random.hex(TOKEN_DIGITS)}-`;
  const texts = new Map<string, string>();
  const slots = new Map<string, Slot>();
  const opened: OpenBlob[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(opened.map((blob) => blob.close()));
  };
  try {
    for (const [id, source] of Object.entries(media)) {
      if (typeof source === 'string') {
        texts.set(id, source);
        continue;
      }
      const blob = await openBlob(source, blobs);
      if (blob === null) continue; // R2
      slots.set(id, { mediaType: source.mediaType, data: token + opened.length });
      opened.push(blob);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    slotOf: (ref) => slots.get(ref.document_id) ?? texts.get(ref.document_id) ?? notShown(ref),
    bodyOf: (request) => (opened.length === 0 ? null : bodyWith(JSON.stringify(request), token, opened)),
    close,
  };
}

function notShown({ kind, document_id }: MediaRef): string {
  return `[The ${kind === 'image' ? 'image' : 'recording'} ${document_id} is not there any more.]`;
}

async function openBlob({ sha256 }: MediaSource, blobs: Blobs): Promise<OpenBlob | null> {
  try {
    return await blobs.open(sha256);
  } catch (error) {
    if (isFault(error, 'blob_missing')) return null;
    throw error;
  }
}

/** A medium may be named more than once; it is read as often. */
function bodyWith(json: string, token: string, blobs: readonly OpenBlob[]): SentBody {
  const [head = '', ...parts] = json.split(token);
  const rest = parts.map((part) => {
    const digits = /^\d+/.exec(part)?.[0] ?? '';
    const blob = blobs[Number(digits)];
    assert(blob !== undefined, 'a slot is one that was given');
    return { blob, text: part.slice(digits.length) };
  });
  const bytes = rest.reduce(
    (sum, { blob, text }) => sum + base64Length(blob.sizeBytes) + Buffer.byteLength(text),
    Buffer.byteLength(head),
  );
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    yield head;
    for (const { blob, text } of rest) {
      yield* base64Of(blob);
      yield text;
    }
  }
  return { bytes, pieces: pieces() }; // R3
}

function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/** Three bytes are four characters: what is over waits for the next piece. */
async function* base64Of(blob: OpenBlob): AsyncGenerator<string, void, undefined> {
  let over = Buffer.alloc(0);
  for await (const piece of blob.read()) {
    const bytes = Buffer.concat([over, piece]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
    over = bytes.subarray(whole);
  }
  if (over.length > 0) yield over.toString('base64');
}
