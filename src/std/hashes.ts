// Hashes: the door to digests, for names that follow from content.

import { createHash } from 'node:crypto';

/** SHA-256 of the text's UTF-8 form, in lowercase hex. */
export function sha256Hex(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}
