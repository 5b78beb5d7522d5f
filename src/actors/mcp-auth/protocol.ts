// MCP auth: who Troupe is to remote MCP servers: registrations, tokens, and the sign-ins that bring them.
// S1 One sign-in per server, for ten minutes. Its state is unguessable, good for one callback, and for this sign-in alone.
// S2 Refresh tokens, client secrets and verifiers never leave this actor; it hands out access tokens, to sessions only.
// S3 Credentials belong to a server's name and URL together: a server that moves gets none of those of its old address.
// S4 At most one refresh per server is under way; whoever asks meanwhile gets what comes of it.
// S5 What was granted is flushed before anybody uses it: a rotated refresh token is not lost with the process.
// S6 No text of a server or an authorization server gets into an error or a log: `error` is one of our own sentences.

import { declareFaults } from '../../std/errors.ts';
import { Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

export const mcpAuthFaults = declareFaults({
  /** There will be no consent: what is wrong stands in `auth_state.error` too. */
  mcp_sign_in_failed: 'invalid',
  /** A cancel, a reset or a newer attempt came first. */
  mcp_sign_in_cancelled: 'cancelled',
  /** The tokens may well be good, but nobody who could renew them answers. */
  mcp_authorization_unreachable: 'unavailable',
});

/** How long a sign-in waits for its callback. */
export const SIGN_IN_MS_MAX = 10 * 60 * 1000;
/** The longest that `accessToken` and `challenged` take: a deadline for those who ask. */
export const AUTHORIZATION_MS_MAX = 60_000;

/** A remote server as it is configured, variables resolved. */
export interface OAuthAccount {
  /** Its name. */
  readonly server: string;
  readonly url: string;
  readonly scope: string | null;
  readonly client_id: string | null;
  readonly client_secret: string | null;
}

/** What a server said instead of an answer. */
export interface Challenge {
  /** 403: `insufficient_scope`. */
  readonly status: 401 | 403;
  /** The token that it did not take; null when it was given none. */
  readonly rejected: string | null;
  /** From `WWW-Authenticate`. */
  readonly resource_metadata: string | null;
  readonly scope: string | null;
}

export type Admission =
  /** Ask again, with this token. */
  | { readonly kind: 'authorized'; readonly token: string }
  /** Somebody has to consent in a browser; see `signInEnded`. */
  | ({ readonly kind: 'consent' } & Consent);

export interface Consent {
  /** For a browser. */
  readonly authorization_url: string;
  readonly flow_id: string;
}

export interface AuthState {
  readonly authorized: boolean;
  /** Null when nobody said how long the token holds. */
  readonly expired: boolean | null;
  readonly refreshable: boolean;
  readonly pending: boolean;
  readonly error: string | null;
}

export interface SignInEnd {
  readonly outcome: 'signed_in' | 'failed' | 'cancelled' | 'expired';
  /** A sentence for the user, of a failed or expired one. */
  readonly error: string | null;
}

const optional = Type.Optional;
/** Codes may be JWTs with a payload. */
const CODE_CHARS_MAX = 8_000;
const WORD_CHARS_MAX = 2_000;
const Word = Type.String({ maxLength: WORD_CHARS_MAX });

export const mcpAuth = protocol('mcp-auth', {
  settleSignIn: call({
    summary: 'Where the browser comes back to after a consent for an MCP server; answers a page.',
    request: Type.Object({
      code: optional(Type.String({ maxLength: CODE_CHARS_MAX })),
      state: optional(Word),
      error: optional(Word),
      iss: optional(Word),
    }),
    reply: Type.Object({
      outcome: Type.Enum(['signed_in', 'refused', 'failed', 'incomplete', 'unknown']),
    }),
  }),

  // Between actors only.
  /** The token for the next request; refreshed when it is about to expire. Null when there is none to be had without consent. */
  accessToken: call<{ readonly account: OAuthAccount }, { readonly token: string | null }>({
    faults: mcpAuthFaults,
  }),
  /** Refreshes, or begins a sign-in, or joins the one that is under way. */
  challenged: call<{ readonly account: OAuthAccount; readonly challenge: Challenge }, Admission>({
    faults: mcpAuthFaults,
  }),
  /**
   * Somebody wants to connect, now: a sign-in that is under way is dropped, what went wrong last is forgotten. For a connect
   * by hand, not for one that a session makes by itself: that one joins the sign-in, which may be open in a browser.
   */
  newAttempt: call<{ readonly server: string }, Record<string, never>>(),
  /** The sign-in that waits for its callback: there is one when a session says `auth_required`. Null when there is none. */
  consent: call<{ readonly server: string }, Consent | null>(),
  /** Answers when the sign-in is over, at once when it was; give it SIGN_IN_MS_MAX and a little. */
  signInEnded: call<{ readonly server: string; readonly flow_id: string }, SignInEnd>(),
  /** By name. */
  states: call<
    { readonly servers: readonly { readonly server: string; readonly url: string }[] },
    Readonly<Record<string, AuthState>>
  >(),
  /** Forgets tokens and registration, and drops a sign-in; `cleared` is false when there were none. */
  reset: call<{ readonly server: string }, { readonly cleared: boolean }>(),
  /** Drops a sign-in and keeps the tokens; `cancelled` is false when there was none, or when it is past stopping. */
  cancel: call<{ readonly server: string }, { readonly cancelled: boolean }>(),
  /** The server keeps its credentials under its new name; a sign-in is dropped. */
  rename: call<{ readonly server: string; readonly to: string }, Record<string, never>>(),
});
