// Uploads: the files that are being received. Each has a draft on disk and a share of its workspace's quota set aside.
// U1 A byte is set aside before it is kept: what is stored, and what all uploads of a workspace have set aside, stay within
//    its quota. What is announced is set aside at once, so that of two that do not fit together the second is told first.
// U2 An upload ends once: finished, refused, abandoned, or given up after a silence. Its draft and its share end with it.
// U3 All of it is in memory and on disk as drafts: a restart forgets every upload, and sweeps what it left.

import type { Clock } from '../../std/clock.ts';
import type { BlobDraft, Blobs, PlacedBlob } from '../../storage/contract.ts';
import { mediaTypeOf, SNIFFED_BYTES } from './media-type.ts';
import type { Membership } from './memberships.ts';
import { workspaceFaults } from './protocol.ts';
import type { Refusals } from './refusals.ts';

/** Each is an open file and a piece in memory. */
const UPLOADS_OPEN_MAX = 64;
/** The edge says so when a sender is gone: this is for an edge that is gone itself. */
const SILENCE_MAX_MS = 300_000;

export interface Limits {
  readonly fileBytesMax: number;
  readonly quotaBytes: number;
}

/** A document has its name; media are called after what they are. `declaredType` is what the sender says. */
export type PlannedFile =
  | { readonly kind: 'document'; readonly filename: string; readonly contentType: string }
  | { readonly kind: 'media'; readonly name: string; readonly declaredType: string };

export interface UploadPlan extends Membership {
  readonly file: PlannedFile;
  readonly bytesMin: number;
  readonly limits: Limits;
  /** How it is told that a file is not taken. */
  readonly refuse: Refusals;
}

export interface Upload {
  readonly uploadId: string;
  readonly plan: UploadPlan;
  /** Whole and on disk; to be let go. */
  readonly blob: PlacedBlob;
  /** Of media. */
  readonly mediaType: string;
  /** Gives back its share of the quota. To be called when the document is entered, or will not be. */
  release(): void;
}

interface OpenUpload {
  readonly plan: UploadPlan;
  readonly draft: BlobDraft;
  /** U1. */
  reservedBytes: number;
  /** Its first bytes. */
  head: Uint8Array;
  /** Of media that were recognised. */
  mediaType: string;
  heardAtMs: number;
}

export interface UploadsParts {
  readonly blobs: Blobs;
  readonly clock: Clock;
  /** Bytes of the documents of a workspace. */
  readonly usedBytes: (workspace: Membership) => number;
}

export class Uploads {
  readonly #parts: UploadsParts;
  readonly #open = new Map<string, OpenUpload>();
  #opening = 0;
  /** U1. By workspace. */
  readonly #reserved = new Map<string, number>();

  constructor(parts: UploadsParts) {
    this.#parts = parts;
  }

  /** @throws the refusals of the plan, uploads_full, storage_full */
  async begin(uploadId: string, plan: UploadPlan): Promise<void> {
    if (this.#open.size + this.#opening >= UPLOADS_OPEN_MAX) {
      throw workspaceFaults.uploads_full('Too many uploads at once');
    }
    this.#reserve(plan, 0, plan.bytesMin);
    this.#opening += 1;
    try {
      const draft = await this.#parts.blobs.draft();
      this.#open.set(uploadId, {
        plan,
        draft,
        reservedBytes: plan.bytesMin,
        head: new Uint8Array(),
        mediaType: '',
        heardAtMs: this.#parts.clock.monotonicMs(),
      });
    } catch (error) {
      this.#giveBack(plan, plan.bytesMin);
      throw error;
    } finally {
      this.#opening -= 1;
    }
  }

  /** What is refused is over: the upload is known no more. @throws the refusals of the plan, upload_lost, storage_full */
  async write(uploadId: string, bytes: Uint8Array): Promise<void> {
    const upload = this.#mustBeOpen(uploadId);
    const { draft, plan } = upload;
    upload.heardAtMs = this.#parts.clock.monotonicMs();
    try {
      const sizeBytes = draft.sizeBytes + bytes.length;
      if (sizeBytes > upload.reservedBytes) {
        this.#reserve(plan, upload.reservedBytes, sizeBytes);
        upload.reservedBytes = sizeBytes;
      }
      if (upload.head.length < SNIFFED_BYTES) {
        upload.head = Buffer.concat([upload.head, bytes.subarray(0, SNIFFED_BYTES - upload.head.length)]);
        if (upload.head.length === SNIFFED_BYTES) recognise(upload);
      }
      await draft.write(bytes);
    } catch (error) {
      await this.abandon(uploadId);
      throw error;
    }
  }

  /** Takes it out: whole, on disk, and still counted against the quota. @throws the refusals of the plan, upload_lost */
  async finish(uploadId: string): Promise<Upload> {
    const upload = this.#mustBeOpen(uploadId);
    const { draft, plan } = upload;
    try {
      if (upload.mediaType === '') recognise(upload);
      this.#open.delete(uploadId);
      const blob = await draft.place();
      const { reservedBytes, mediaType } = upload;
      return { uploadId, plan, blob, mediaType, release: () => this.#giveBack(plan, reservedBytes) };
    } catch (error) {
      this.#open.delete(uploadId);
      this.#giveBack(plan, upload.reservedBytes);
      await draft.discard();
      throw error;
    }
  }

  /** U2. One that is over already is no matter. */
  async abandon(uploadId: string): Promise<void> {
    const upload = this.#open.get(uploadId);
    if (upload === undefined) return;
    this.#open.delete(uploadId);
    this.#giveBack(upload.plan, upload.reservedBytes);
    await upload.draft.discard();
  }

  async abandonSilent(): Promise<void> {
    const heardBeforeMs = this.#parts.clock.monotonicMs() - SILENCE_MAX_MS;
    const silent = [...this.#open].filter(([, { heardAtMs }]) => heardAtMs < heardBeforeMs);
    await Promise.all(silent.map(([uploadId]) => this.abandon(uploadId)));
  }

  async abandonAll(): Promise<void> {
    await Promise.all(Array.from(this.#open.keys(), (uploadId) => this.abandon(uploadId)));
  }

  #mustBeOpen(uploadId: string): OpenUpload {
    const upload = this.#open.get(uploadId);
    if (upload === undefined)
      throw workspaceFaults.upload_lost('The upload was given up: please send it again');
    return upload;
  }

  /** U1. Raises what one upload has set aside. */
  #reserve(plan: UploadPlan, fromBytes: number, toBytes: number): void {
    const { limits, refuse } = plan;
    if (toBytes > limits.fileBytesMax) throw refuse.tooLarge(limits.fileBytesMax);
    const key = keyOf(plan);
    const reserved = (this.#reserved.get(key) ?? 0) + toBytes - fromBytes;
    if (this.#parts.usedBytes(plan) + reserved > limits.quotaBytes) throw refuse.overQuota(limits.quotaBytes);
    this.#reserved.set(key, reserved);
  }

  #giveBack(plan: UploadPlan, bytes: number): void {
    const key = keyOf(plan);
    const left = (this.#reserved.get(key) ?? 0) - bytes;
    if (left > 0) this.#reserved.set(key, left);
    else this.#reserved.delete(key);
  }
}

/** @throws unsupported */
function recognise(upload: OpenUpload): void {
  const { file, refuse } = upload.plan;
  if (file.kind === 'document') return;
  const mediaType = mediaTypeOf(upload.head, file.declaredType);
  if (mediaType === undefined)
    throw refuse.unsupported('The file is no image, audio or video of a known kind');
  upload.mediaType = mediaType;
}

function keyOf({ userId, workspaceId }: Membership): string {
  return JSON.stringify([userId, workspaceId]);
}
