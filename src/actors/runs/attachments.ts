// Attachments: the images and recordings that came with a message, as its transcript keeps them, as the model reads about them, and
// as it gets them. Pure.
// A1 They are named by id, and nothing else of them is kept but their type and, of a recording, what was said in it.
// A2 The model is told the ids, so that it can hand them on to tools, also when it does not get the media themselves any more.

import type { MediaRef, ModelMessage } from '../providers/protocol.ts';
import type { AttachedMedium, ChatRequest } from './protocol.ts';

export interface Attachments {
  readonly images: readonly AttachedMedium[];
  readonly audio: readonly AttachedMedium[];
}

/** What a model reads of a recording: some forty minutes of speech, which is what tokens.ts counts for one. */
const TRANSCRIPT_SHOWN_CHARS = 32_000;

/** One for all messages without any, which are nearly all. */
const NONE: Attachments = { images: [], audio: [] };

export function attachmentsOf({ images, audio }: Pick<ChatRequest, 'images' | 'audio'>): Attachments {
  if (!images?.length && !audio?.length) return NONE;
  return { images: (images ?? []).map(kept), audio: (audio ?? []).map(kept) };
}

export function hasMedia({ images, audio }: Attachments): boolean {
  return images.length + audio.length > 0;
}

/** Of a row. Metadata that an older version or another hand wrote may hold anything. */
export function attachmentsOfRow(metadata: Readonly<Record<string, unknown>> | undefined): Attachments {
  return { images: listed(metadata?.['images']), audio: listed(metadata?.['audio']) };
}

/** As the row of the message keeps them, with what was found out about recordings meanwhile. */
export function attachmentMetadata(
  { images, audio }: Attachments,
  transcripts: Readonly<Record<string, string>>,
): Readonly<Record<string, readonly AttachedMedium[]>> {
  const heard = audio.map((medium) => {
    const transcript = Object.hasOwn(transcripts, medium.doc_id) ? transcripts[medium.doc_id] : undefined;
    return transcript === undefined ? medium : { ...medium, transcript };
  });
  return {
    ...(images.length === 0 ? {} : { images }),
    ...(heard.length === 0 ? {} : { audio: heard }),
  };
}

/** The message as it is sent, with its media. */
export function messageWith(text: string, attachments: Attachments): ModelMessage {
  const media = mediaOf(attachments);
  if (media.length === 0) return { role: 'user', content: text };
  return { role: 'user', content: withLines(text, attachments), media };
}

/**
 * An earlier message of the conversation. `isRecent`: its images are seen once more, and its recordings heard, unless what is said
 * in them can be read.
 */
export function earlierMessage(text: string, attachments: Attachments, isRecent: boolean): ModelMessage {
  const read = attachments.audio.filter(({ transcript }) => transcript);
  const content = [
    withLines(text, attachments),
    ...read.map(({ doc_id, transcript }) => transcriptText(doc_id, transcript ?? '')),
  ].join('\n');
  const unread = attachments.audio.filter((medium) => !read.includes(medium));
  const media = mediaOf({ images: attachments.images, audio: unread });
  return { role: 'user', content, ...(isRecent && media.length > 0 ? { media } : {}) };
}

export function transcriptText(documentId: string, transcript: string): string {
  const shown = transcript.slice(0, TRANSCRIPT_SHOWN_CHARS).toWellFormed();
  const rest = transcript.length - shown.length;
  return `[Transcript of the recording ${documentId}]\n${shown}${rest > 0 ? `\n[${rest} more characters are left out]` : ''}`;
}

function mediaOf({ images, audio }: Attachments): readonly MediaRef[] {
  const refs = (kind: MediaRef['kind'], media: readonly AttachedMedium[]): MediaRef[] =>
    media.map(({ workspace_id, doc_id }) => ({ kind, workspace_id, document_id: doc_id }));
  return [...refs('image', images), ...refs('audio', audio)];
}

/** A2. */
function withLines(text: string, { images, audio }: Attachments): string {
  const lines = (what: string, media: readonly AttachedMedium[]): string[] =>
    media.map(({ workspace_id, doc_id, media_type }) => {
      const type = media_type ? `, ${media_type}` : '';
      return `[Attached ${what}: document_id ${doc_id}, workspace_id ${workspace_id}${type}]`;
    });
  return [text, ...lines('image', images), ...lines('recording', audio)]
    .filter((line) => line !== '')
    .join('\n');
}

/** A1. */
function kept({ workspace_id, doc_id, media_type, transcript }: AttachedMedium): AttachedMedium {
  return {
    workspace_id,
    doc_id,
    ...(media_type ? { media_type } : {}),
    ...(transcript ? { transcript } : {}),
  };
}

function listed(value: unknown): readonly AttachedMedium[] {
  return Array.isArray(value) ? value.filter(isAttached).map(kept) : [];
}

function isAttached(value: unknown): value is AttachedMedium {
  if (typeof value !== 'object' || value === null) return false;
  const { workspace_id, doc_id, media_type, transcript } = value as Readonly<Record<string, unknown>>;
  const isText = (member: unknown): boolean => typeof member === 'string';
  const isTextOrNone = (member: unknown): boolean =>
    member === undefined || member === null || isText(member);
  return isText(workspace_id) && isText(doc_id) && isTextOrNone(media_type) && isTextOrNone(transcript);
}
