// Media type: what an image, an audio or a video is, by its first bytes. What its sender says only chooses between the names
// that such bytes may have: a model that is told the wrong type refuses the whole turn.

import { isoTimestamp } from '../../std/clock.ts';
import { cleanedBase } from './filename.ts';

/** So many bytes tell every kind. */
export const SNIFFED_BYTES = 64;

interface Container {
  readonly matches: (head: Buffer) => boolean;
  /** The first is given where the sender names none of them. */
  readonly types: readonly [string, ...string[]];
}

const CONTAINERS: readonly Container[] = [
  { matches: begins('\x89PNG\r\n\x1a\n'), types: ['image/png'] },
  { matches: begins('\xff\xd8\xff'), types: ['image/jpeg'] },
  { matches: (head) => begins('GIF87a')(head) || begins('GIF89a')(head), types: ['image/gif'] },
  { matches: riff('WEBP'), types: ['image/webp'] },
  { matches: riff('WAVE'), types: ['audio/wav', 'audio/x-wav'] },
  { matches: begins('OggS'), types: ['audio/ogg'] },
  { matches: begins('fLaC'), types: ['audio/flac'] },
  { matches: isWebm, types: ['video/webm', 'audio/webm'] },
  { matches: (head) => /^M4[AB] /.test(brandOf(head)), types: ['audio/mp4', 'audio/x-m4a'] },
  { matches: isMp4, types: ['video/mp4', 'audio/mp4', 'audio/x-m4a'] },
  { matches: (head) => begins('ADIF')(head) || isAdts(head), types: ['audio/aac'] },
  { matches: (head) => begins('ID3')(head) || isMpegAudio(head), types: ['audio/mpeg', 'audio/mp3'] },
];

const EXTENSIONS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/ogg': 'ogg',
  'audio/flac': 'flac',
  'audio/webm': 'webm',
  'video/webm': 'webm',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'video/mp4': 'mp4',
  'audio/aac': 'aac',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
};

/** Undefined for bytes that no accepted type begins with. */
export function mediaTypeOf(bytes: Uint8Array, declared: string): string | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, SNIFFED_BYTES));
  const container = CONTAINERS.find(({ matches }) => matches(head));
  if (container === undefined) return undefined;
  const plain = plainType(declared);
  return container.types.includes(plain) ? plain : container.types[0];
}

/** Whether it is worth looking at the bytes: a type that is accepted, or none. */
export function mayBeMedia(declared: string): boolean {
  const plain = plainType(declared);
  return plain === '' || plain === 'application/octet-stream' || Object.hasOwn(EXTENSIONS, plain);
}

/** `uploads/image-20260714-041814.png`; with a name of its own `uploads/chart-20260714-041814.png`. */
export function mediaFilename(name: string, mediaType: string, atMs: number): string {
  const kind = mediaType.slice(0, mediaType.indexOf('/'));
  const stamp = isoTimestamp(atMs).slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
  return `uploads/${cleanedBase(name) || kind}-${stamp}.${EXTENSIONS[mediaType] ?? 'bin'}`;
}

/** Without parameters (`audio/webm;codecs=opus`), and by its usual name. */
function plainType(declared: string): string {
  const plain = (declared.split(';', 1)[0] ?? '').trim().toLowerCase();
  return plain === 'image/jpg' ? 'image/jpeg' : plain;
}

function begins(signature: string): (head: Buffer) => boolean {
  const bytes = Buffer.from(signature, 'latin1');
  return (head) => head.subarray(0, bytes.length).equals(bytes);
}

function riff(form: string): (head: Buffer) => boolean {
  return (head) => begins('RIFF')(head) && head.toString('latin1', 8, 12) === form;
}

/** EBML, whose header names the document type. */
function isWebm(head: Buffer): boolean {
  return begins('\x1a\x45\xdf\xa3')(head) && head.includes('webm', 4, 'latin1');
}

/** The major brand of an ISO base media file; empty for any other. */
function brandOf(head: Buffer): string {
  return head.toString('latin1', 4, 8) === 'ftyp' ? head.toString('latin1', 8, 12) : '';
}

/** Still images come in the same boxes. */
function isMp4(head: Buffer): boolean {
  const brand = brandOf(head);
  return brand !== '' && !/^(avi[fs]|hei[cmsx]|hev[cx]|mif1|msf1)$/.test(brand);
}

/** A frame's sync word; layer 0 is AAC, any other MPEG audio. */
function isAdts(head: Buffer): boolean {
  return head.length > 1 && head[0] === 0xff && ((head[1] as number) & 0xf6) === 0xf0;
}

function isMpegAudio(head: Buffer): boolean {
  const second = head[1] ?? 0;
  return head[0] === 0xff && (second & 0xe0) === 0xe0 && (second & 0x06) !== 0 && (second & 0x18) !== 0x08;
}
