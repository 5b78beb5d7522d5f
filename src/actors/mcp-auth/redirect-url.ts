// RedirectUrl: where an authorization server sends the browser back to. Pure.

const CALLBACK_PATH = '/api/mcp/oauth/callback';

export interface RedirectFacts {
  /** SVC_OAUTH_REDIRECT_URL, whole: what the operator says wins. */
  readonly override: string | undefined;
  /** Where the service listens; null when it has no server of its own. */
  readonly servedAt: string | null;
}

/** What a service listens on that can be reached under 127.0.0.1. */
const HERE = /^(localhost|127\.0\.0\.1|0\.0\.0\.0|\[::\])$/;

/** Null when there is none that a browser could be sent to. */
export function redirectUrl({ override, servedAt }: RedirectFacts): string | null {
  const given = override?.trim();
  if (given) return URL.canParse(given) && /^https?:$/.test(new URL(given).protocol) ? given : null;
  if (servedAt === null) return null;
  const { origin, hostname, port } = new URL(servedAt);
  // RFC 8252: the address, not a name, which somebody might point elsewhere.
  return `${HERE.test(hostname) ? `http://127.0.0.1:${port || 80}` : origin}${CALLBACK_PATH}`;
}
