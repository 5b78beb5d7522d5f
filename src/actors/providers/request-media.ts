// RequestMedia: the images and recordings of one request to a model, which have some megabytes and are never held: they are looked up
// before the request is made, and read piece by piece, as base64, while it is sent.
// R1 Until then a slot stands for the bytes in the request's JSON. Its name is random: no text of a conversation contains it.
// R2 What is gone by then is told in its place; the request is made nevertheless. What goes while it is sent ends it: another try finds
//    it gone.
// R3 The length of the body is known beforehand: some servers take no other.
// R4 At most one file of a request is open at a time.

import { present } from '../../std/assert.ts';
import { isFault } from '../../std/errors.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { Blobs } from '../../storage/contract.ts';
import {
  type CompletionRequest,
  type MediaRef,
  type MediaSource,
  type MediaSources,
  providerFaults,
} from './protocol.ts';

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
}

const TOKEN_DIGITS = 32;

/** Of a request without any. */
export const NO_MEDIA: RequestMedia = {
  slotOf: (ref) => notShown(ref),
  bodyOf: () => null,
};

export function hasMedia({ media }: CompletionRequest): boolean {
  return media !== undefined && Object.keys(media).length > 0;
}

/** What is sent in a slot. */
interface Filling {
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Those of a request, as far as they are there. */
export async function findMedia(
  media: MediaSources,
  blobs: Blobs,
  random: RandomSource,
): Promise<RequestMedia> {
  const token = `slot-${random.hex(TOKEN_DIGITS)}-`;
  const found = new Map<string, Slot | string>();
  const fillings: Filling[] = [];
  for (const [id, source] of Object.entries(media)) {
    if (typeof source === 'string') {
      found.set(id, source);
      continue;
    }
    const sizeBytes = await sizeOf(source, blobs);
    if (sizeBytes === null) continue; // R2
    found.set(id, { mediaType: source.mediaType, data: token + fillings.length });
    fillings.push({ sha256: source.sha256, sizeBytes });
  }
  return {
    slotOf: (ref) => found.get(ref.document_id) ?? notShown(ref),
    bodyOf: (request) =>
      fillings.length === 0 ? null : bodyWith(JSON.stringify(request), token, fillings, blobs),
  };
}

function notShown({ kind, document_id }: MediaRef): string {
  return `[The ${kind === 'image' ? 'image' : 'recording'} ${document_id} is not there any more.]`;
}

async function sizeOf({ sha256 }: MediaSource, blobs: Blobs): Promise<number | null> {
  try {
    const blob = await blobs.open(sha256);
    await blob.close();
    return blob.sizeBytes;
  } catch (error) {
    if (isFault(error, 'blob_missing')) return null;
    throw error;
  }
}

/** A medium may be named more than once; it is read as often. */
function bodyWith(json: string, token: string, fillings: readonly Filling[], blobs: Blobs): SentBody {
  const [head = '', ...parts] = json.split(token);
  const rest = parts.map((part) => {
    const digits = /^\d+/.exec(part)?.[0] ?? '';
    return { filling: present(fillings[Number(digits)], 'a slot'), text: part.slice(digits.length) };
  });
  const bytes = rest.reduce(
    (sum, { filling, text }) => sum + base64Length(filling.sizeBytes) + Buffer.byteLength(text),
    Buffer.byteLength(head),
  );
  async function* pieces(): AsyncGenerator<string, void, undefined> {
    yield head;
    for (const { filling, text } of rest) {
      yield* base64Of(filling, blobs); // R4
      yield text;
    }
  }
  return { bytes, pieces: pieces() }; // R3
}

function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}

/** Three bytes are four characters: what is over waits for the next piece. @throws media_missing */
async function* base64Of({ sha256 }: Filling, blobs: Blobs): AsyncGenerator<string, void, undefined> {
  const blob = await blobs.open(sha256).catch((error: unknown) => {
    if (!isFault(error, 'blob_missing')) throw error;
    throw providerFaults.media_missing('what was to be sent is not there any more', { retryable: true });
  });
  try {
    let over = Buffer.alloc(0);
    for await (const piece of blob.read()) {
      const bytes = Buffer.concat([over, piece]);
      const whole = bytes.length - (bytes.length % 3);
      if (whole > 0) yield bytes.toString('base64', 0, whole);
      over = bytes.subarray(whole);
    }
    if (over.length > 0) yield over.toString('base64');
  } finally {
    await blob.close();
  }
}
