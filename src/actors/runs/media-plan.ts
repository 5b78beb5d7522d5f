// MediaPlan: what becomes of the media that the messages of one request name: sent as they are, or not, and why. Pure.
// M1 The newest are served first: of a longer conversation it is the older images that are left out.
// M2 What a document is counts, not what its sender has called it.

import type { MediaRef, MediaSource, ModelRoute } from '../providers/protocol.ts';
import type { Document } from '../workspaces/protocol.ts';

export interface MediaLimits {
  readonly isVisionOn: boolean;
  readonly isAudioOn: boolean;
  readonly imageBytesMax: number;
  readonly imagesMax: number;
  readonly requestBytesMax: number;
}

export type MediumFate =
  | { readonly kind: 'sent'; readonly source: MediaSource }
  /** A recording that the model does not hear, but that may be read to it. */
  | {
      readonly kind: 'unheard';
      readonly source: MediaSource;
      readonly sizeBytes: number;
      readonly why: string;
    }
  | { readonly kind: 'withheld'; readonly why: string };

/** What a provider is sent of one recording. */
export const NATIVE_AUDIO_BYTES_MAX = 10 * 1024 * 1024;

export interface MediaFacts {
  /** Oldest first. */
  readonly refs: readonly MediaRef[];
  /** By document; null for what is not there. */
  readonly documents: ReadonlyMap<string, Document | null>;
  readonly route: Pick<ModelRoute, 'supportsVision' | 'audioTypes'>;
  readonly limits: MediaLimits;
  /** The provider has refused this request with media. */
  readonly isRefused: boolean;
}

/** By document. */
export function planMedia({ refs, documents, ...facts }: MediaFacts): ReadonlyMap<string, MediumFate> {
  const fates = new Map<string, MediumFate>();
  const room = { images: facts.limits.imagesMax, bytes: facts.limits.requestBytesMax };
  for (const { kind, document_id } of refs.toReversed()) {
    if (fates.has(document_id)) continue;
    const document = documents.get(document_id) ?? null;
    const fate = fateOf(kind, document, room, facts);
    fates.set(document_id, fate);
    if (fate.kind !== 'sent' || document === null) continue;
    room.bytes -= document.size_bytes;
    if (kind === 'image') room.images -= 1;
  }
  return fates;
}

type Room = { images: number; bytes: number };
type Facts = Omit<MediaFacts, 'refs' | 'documents'>;

function fateOf(kind: MediaRef['kind'], document: Document | null, room: Room, facts: Facts): MediumFate {
  const { limits } = facts;
  if (!(kind === 'image' ? limits.isVisionOn : limits.isAudioOn)) return withheld('it is switched off');
  if (document === null) return withheld('it is not there');
  if (!document.content_type.startsWith(`${kind}/`)) return withheld(`it is ${document.content_type}`); // M2
  return kind === 'image' ? fateOfImage(document, room, facts) : fateOfAudio(document, room, facts);
}

function fateOfImage(document: Document, room: Room, { route, limits, isRefused }: Facts): MediumFate {
  const { size_bytes } = document;
  if (!route.supportsVision) return withheld('this model cannot see');
  if (isRefused) return withheld('the provider refused it');
  if (size_bytes > limits.imageBytesMax) {
    return withheld(`it has ${size_bytes} bytes, and at most ${limits.imageBytesMax} are shown`);
  }
  if (room.images < 1) return withheld(`at most ${limits.imagesMax} images are shown at once`);
  if (size_bytes > room.bytes) return withheld('there is no room for it beside the newer ones');
  return { kind: 'sent', source: sourceOf(document) };
}

function fateOfAudio(document: Document, room: Room, { route, isRefused }: Facts): MediumFate {
  const { size_bytes: sizeBytes, content_type } = document;
  const source = sourceOf(document);
  const unheard = (why: string): MediumFate => ({ kind: 'unheard', source, sizeBytes, why });
  if (route.audioTypes.length === 0) return unheard('this model cannot hear');
  if (!route.audioTypes.includes(content_type)) return unheard(`this model hears no ${content_type}`);
  if (isRefused) return unheard('the provider refused it');
  if (sizeBytes > Math.min(NATIVE_AUDIO_BYTES_MAX, room.bytes)) return unheard('it is too large to be heard');
  return { kind: 'sent', source };
}

function withheld(why: string): MediumFate {
  return { kind: 'withheld', why };
}

function sourceOf({ content_type, sha256 }: Document): MediaSource {
  return { mediaType: content_type, sha256 };
}
