// Masking: takes the secrets of a server's configuration, and its tokens, out of what the server, or a failure, says.

const MASK = '***';
/** Shorter ones are hardly secrets, and would tear holes into ordinary words. */
const SECRET_CHARS_MIN = 6;
const SCHEME = /^(?:Bearer|Basic|Token)\s+/i;

/** A token is renewed now and then, and what was refused with the one before may still be on its way. */
const TOKENS_KEPT_MAX = 3;

export type Mask = (text: string) => string;

export interface TokenMask {
  readonly mask: Mask;
  /** Masked from now on, in place of the oldest. */
  readonly learn: (token: string) => void;
}

export function tokenMaskOf(values: readonly string[]): TokenMask {
  let tokens: readonly string[] = [];
  let mask = maskOf(values);
  return {
    mask: (text) => mask(text),
    learn(token) {
      if (tokens.includes(token)) return;
      tokens = [token, ...tokens].slice(0, TOKENS_KEPT_MAX);
      mask = maskOf([...values, ...tokens]);
    },
  };
}

/** Every value counts: which of them is a key cannot be told from its name. */
export function maskOf(values: Iterable<string>): Mask {
  const secrets = new Set<string>();
  for (const value of values) {
    for (const one of [value, value.replace(SCHEME, ''), JSON.stringify(value).slice(1, -1)]) {
      if (one.length >= SECRET_CHARS_MIN) secrets.add(one);
    }
  }
  if (secrets.size === 0) return (text) => text;
  // The longest first: one may be part of another.
  const longestFirst = [...secrets].sort((a, b) => b.length - a.length);
  const pattern = new RegExp(longestFirst.map(escaped).join('|'), 'g');
  return (text) => text.replace(pattern, MASK);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
