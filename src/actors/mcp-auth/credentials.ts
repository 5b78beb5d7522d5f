// Credentials: what an authorization server has given us for one MCP server. Pure.
// C1 They hold for one URL; a registration for one issuer and one address to come back to. Where these change, it is as if there
//    were none.

import type { GrantedTokens } from './envoy-protocol.ts';
import type { AuthState, OAuthAccount } from './protocol.ts';

/** A client as the authorization server knows it: one that registered itself, or the operator's. */
export interface Client {
  readonly id: string;
  readonly secret: string | null;
  /** As it was registered; null: whichever the server likes best. */
  readonly authMethod: string | null;
}

export interface Registration extends Client {
  readonly issuer: string;
  readonly redirectUrl: string;
  /** When the secret ends; null for never. */
  readonly expiresAtMs: number | null;
}

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly scope: string | null;
  readonly receivedAtMs: number;
  /** Null when the server did not say. */
  readonly expiresAtMs: number | null;
  /** Who gave them, for what, to whom. */
  readonly authorizationServer: string;
  readonly resource: string | null;
  readonly clientId: string;
}

export interface Credentials {
  readonly url: string;
  /** Null with a client of the operator's. */
  readonly registration: Registration | null;
  readonly tokens: Tokens | null;
}

/** Clocks differ, and a request takes its time. */
const EXPIRY_MARGIN_MS = 30_000;
/** Of tokens that hold for a minute or two, the margin is this part. */
const EXPIRY_MARGIN_PART = 0.25;

export function isExpired({ expiresAtMs }: Tokens, nowMs: number): boolean {
  return expiresAtMs !== null && nowMs >= expiresAtMs;
}

export function expiresSoon({ expiresAtMs, receivedAtMs }: Tokens, nowMs: number): boolean {
  if (expiresAtMs === null) return false;
  const marginMs = Math.min(EXPIRY_MARGIN_MS, (expiresAtMs - receivedAtMs) * EXPIRY_MARGIN_PART);
  return nowMs >= expiresAtMs - marginMs;
}

/** The client that is configured for the server; null where Troupe registers itself. */
export function operatorsClient({ client_id, client_secret }: OAuthAccount): Client | null {
  return client_id === null ? null : { id: client_id, secret: client_secret, authMethod: null };
}

/** `before` says what holds where the authorization server says nothing. */
export function tokensFrom(
  { expiresInMs, ...granted }: GrantedTokens,
  before: Pick<Tokens, 'refreshToken' | 'scope' | 'authorizationServer' | 'resource' | 'clientId'>,
  nowMs: number,
): Tokens {
  return {
    ...before,
    accessToken: granted.accessToken,
    refreshToken: granted.refreshToken ?? before.refreshToken,
    scope: granted.scope ?? before.scope,
    receivedAtMs: nowMs,
    expiresAtMs: expiresInMs === null ? null : nowMs + expiresInMs,
  };
}

/** C1. */
export function registrationFor(
  credentials: Credentials | null,
  {
    issuer,
    redirectUrl,
    nowMs,
  }: { readonly issuer: string; readonly redirectUrl: string; readonly nowMs: number },
): Registration | null {
  const registration = credentials?.registration ?? null;
  if (registration === null || registration.issuer !== issuer) return null;
  if (registration.redirectUrl !== redirectUrl) return null;
  return registration.expiresAtMs !== null && nowMs >= registration.expiresAtMs ? null : registration;
}

/** Words of all the scopes, each once; null when there is none. */
export function joinedScope(...scopes: readonly (string | null)[]): string | null {
  const words = new Set(scopes.flatMap((scope) => scope?.split(/\s+/) ?? []).filter(Boolean));
  return words.size === 0 ? null : [...words].join(' ');
}

export function covers(granted: string | null, wanted: string | null): boolean {
  const words = new Set(granted?.split(/\s+/));
  return (wanted?.split(/\s+/).filter(Boolean) ?? []).every((word) => words.has(word));
}

export function authStateOf(
  credentials: Credentials | null,
  { isPending, error }: { readonly isPending: boolean; readonly error: string | null },
  nowMs: number,
): AuthState {
  const tokens = credentials?.tokens ?? null;
  return {
    authorized: tokens !== null,
    expired: tokens === null || tokens.expiresAtMs === null ? null : isExpired(tokens, nowMs),
    refreshable: tokens !== null && tokens.refreshToken !== null,
    pending: isPending && error === null,
    error,
  };
}
