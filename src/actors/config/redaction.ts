// Redaction: how a secret looks to a client, and how that look is recognised when it comes back.

const MASK = '***';
const SHOWN_CHARS = 4;
/** The end of a shorter secret would give too much of it away. */
const SECRET_LENGTH_FOR_END = 12;

export function redacted(secret: string): string {
  return secret.length < SECRET_LENGTH_FOR_END ? MASK : MASK + secret.slice(-SHOWN_CHARS);
}

export function isRedacted(value: unknown): boolean {
  return typeof value === 'string' && value.trim().startsWith(MASK);
}
