// Redaction: how a secret looks to a client, and how that look is recognised when it comes back.

export const MASK = '***';
const SHOWN_CHARS = 4;
/** The end of a shorter secret would give too much of it away. */
const SECRET_LENGTH_FOR_END = 12;

export function redacted(secret: string): string {
  return secret.length < SECRET_LENGTH_FOR_END ? MASK : MASK + secret.slice(-SHOWN_CHARS);
}

/** A map that holds secrets: what is under a name with `key` in it, and every header, is redacted. */
export function redactedMap(value: unknown, isSecret = false): unknown {
  if (typeof value === 'string') return isSecret ? redacted(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    redactedMap(member, isSecret || /key|headers/.test(name)),
  ]);
  return Object.fromEntries(entries);
}

export function isRedacted(value: unknown): boolean {
  return typeof value === 'string' && value.trim().startsWith(MASK);
}
