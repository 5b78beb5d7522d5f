// Hashes: the door to digests, for names that follow from content.

import { createHash, hash as hashOf, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

/** SHA-256 of the bytes, or of the text's UTF-8 form, in lowercase hex. */
export function sha256Hex(content: string | Uint8Array): string {
  return hashOf('sha256', content, 'hex');
}

/** SHA-256 of a file, which may be larger than memory. @throws when it cannot be read */
export async function sha256HexOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Takes as long for a near miss as for a far one: for what a caller must know, and may try to guess. */
export function isSameSecret(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** SHA-256 of bytes that come in pieces. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Ends it. */
  hex(): string;
}

export function openSha256(): Sha256 {
  const hash = createHash('sha256');
  return {
    update: (bytes) => void hash.update(bytes),
    hex: () => hash.digest('hex'),
  };
}
