// Sealing: secrets at rest, encrypted and authenticated with AES-256-GCM.
// A1 Every seal has a fresh random nonce of 96 bits: one key is good for billions of seals.
// A2 A seal belongs to its label: moved under another label it does not open.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { assert } from './assert.ts';

export const SEALING_KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = 'aes-256-gcm';

export interface Sealer {
  seal(label: string, text: string): string;
  /** Undefined when this key did not seal it, or when it was changed. */
  open(label: string, sealed: string): string | undefined;
}

export function newSealingKey(): Uint8Array {
  return randomBytes(SEALING_KEY_BYTES);
}

export function sealer(key: Uint8Array): Sealer {
  assert(key.length === SEALING_KEY_BYTES, `a sealing key has ${SEALING_KEY_BYTES} bytes`);
  return {
    seal(label, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, nonce).setAAD(Buffer.from(label));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url');
    },
    open(label, sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(label))
        .setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      try {
        const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([body, decipher.final()]).toString('utf8');
      } catch {
        return undefined; // the tag does not fit
      }
    },
  };
}
