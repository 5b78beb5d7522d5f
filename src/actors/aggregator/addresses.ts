// Addresses: where the browser is sent, and where it is sent back to. Pure.

const API_PATH = /\/api\/v\d+\/*$/;
/** The aggregator takes plain http for this machine only, under this name. */
const LOOPBACK_NAME = 'localhost';

export interface CallbackFacts {
  /** SVC_AGGREGATOR_CALLBACK_BASE: what the operator says wins. */
  readonly base: string | undefined;
  /** SVC_PUBLIC_HOST: a host, with or without a port. */
  readonly publicHost: string | undefined;
  /** Where the service listens; null when it has no server of its own. */
  readonly servedAt: string | null;
}

export interface CallbackBase {
  readonly address: string;
  readonly isLocal: boolean;
}

/** Null when there is none that a browser could be sent to. */
export function callbackBase({ base, publicHost, servedAt }: CallbackFacts): CallbackBase | null {
  const address = base?.trim() || (publicHost ? `https://${publicHost.trim()}` : loopbackOf(servedAt));
  if (address === null || !URL.canParse(address)) return null;
  const url = new URL(address);
  if (!/^https?:$/.test(url.protocol)) return null;
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  return { address: (url.origin + url.pathname).replace(/\/+$/, ''), isLocal };
}

/** The page of consent, at the same site as the API. */
export function authorizationUrl(baseUrl: string, callbackUrl: string, challenge: string): string {
  const query = new URLSearchParams({
    callback_url: callbackUrl,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  return `${siteOf(baseUrl)}/auth?${query}`;
}

/** Where the owner of the account revokes keys. */
export function revokeUrl(baseUrl: string): string {
  return `${siteOf(baseUrl)}/settings/keys`;
}

/** `https://openrouter.ai/api/v1` is of `https://openrouter.ai`. */
function siteOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return API_PATH.test(pathname) ? origin + pathname.replace(API_PATH, '') : origin;
}

function loopbackOf(servedAt: string | null): string | null {
  return servedAt === null ? null : `http://${LOOPBACK_NAME}:${new URL(servedAt).port || 80}`;
}
