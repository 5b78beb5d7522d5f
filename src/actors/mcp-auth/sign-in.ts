// SignIn: one consent that is asked for, from the page in the browser to the stored tokens. Pure.
// F1 It is claimed before its code is exchanged: a callback that comes twice exchanges one code.
// F2 It can be claimed for ten minutes, and once.
// F3 The code goes to the authorization server that the consent was asked at, with the client it was asked for.
// F4 Who answered is checked before anything else of the answer is believed (RFC 9207).

import { isSameSecret } from '../../std/hashes.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { Client, Registration } from './credentials.ts';
import type { Discovery } from './envoy-protocol.ts';
import { SIGN_IN_MS_MAX } from './protocol.ts';

/** 256 bits. */
const STATE_DIGITS = 64;

export interface SignIn {
  readonly id: string;
  /** Whoever knows it may settle the sign-in. */
  readonly state: string;
  readonly url: string;
  readonly discovery: Discovery;
  readonly client: Client;
  /** To be stored with the tokens; null with a client of the operator's. */
  readonly registration: Registration | null;
  readonly redirectUrl: string;
  readonly scope: string | null;
  readonly verifier: string;
  readonly authorizationUrl: string;
  readonly begunAtMs: number;
  /** While it is `storing` it is too late to stop it. */
  readonly phase: 'waiting' | 'exchanging' | 'storing';
}

export interface Arrival {
  readonly code?: string;
  readonly state?: string;
  readonly error?: string;
  readonly iss?: string;
}

export function newState(random: RandomSource): string {
  return random.hex(STATE_DIGITS);
}

/** F1, F2. */
export function isAwaitedBy(signIn: SignIn | null, state: string, nowMs: number): boolean {
  if (signIn === null || !isSameSecret(signIn.state, state)) return false;
  return signIn.phase === 'waiting' && nowMs - signIn.begunAtMs < SIGN_IN_MS_MAX;
}

/** F4. */
export function isFromIssuer({ discovery: { metadata } }: SignIn, iss: string | undefined): boolean {
  if (metadata === null) return true;
  return iss === undefined
    ? metadata.authorization_response_iss_parameter_supported !== true
    : iss === metadata.issuer;
}

/** Standard codes only: anything else would be somebody's text. */
export function refusalSentence(code: string): string {
  if (code === 'access_denied') return 'Access was not granted.';
  return `The authorization server refused: ${REFUSALS.has(code) ? code : 'it gave no known reason'}.`;
}

const REFUSALS: ReadonlySet<string> = new Set([
  'invalid_request',
  'invalid_scope',
  'invalid_target',
  'unauthorized_client',
  'unsupported_response_type',
  'server_error',
  'temporarily_unavailable',
  'login_required',
  'consent_required',
  'interaction_required',
]);
