// ServerAccount: how one server lets us in: with the tokens that are held, with renewed ones, or after a sign-in.
// N1 Whoever is challenged while another challenge is being met gets what comes of that one.
// N2 A token that was renewed for a server and refused at once is not renewed again: it takes a new consent.

import { isFault } from '../../std/errors.ts';
import { authStateOf, covers, isExpired, joinedScope, type Tokens } from './credentials.ts';
import { admissionFault } from './failures.ts';
import {
  type Admission,
  type AuthState,
  type Challenge,
  mcpAuthFaults,
  type OAuthAccount,
} from './protocol.ts';
import { createSigningIn, type SigningIn, type SigningInServices } from './signing-in.ts';
import { createTokenKeeper } from './token-keeper.ts';

/** N2. */
const FRESH_MS = 60_000;

export interface ServerAccount {
  readonly signingIn: SigningIn;
  accessToken(account: OAuthAccount): Promise<string | null>;
  challenged(account: OAuthAccount, challenge: Challenge): Promise<Admission>;
  /** Somebody wants to connect by hand: what is under way, or went wrong, is of the past. */
  newAttempt(): void;
  state(url: string): AuthState;
  /** True when there was something to forget. */
  reset(): Promise<boolean>;
  /** Resolves when nothing is under way any more. */
  rest(): Promise<void>;
}

export function createServerAccount(server: string, services: SigningInServices): ServerAccount {
  const { clock } = services;
  const keeper = createTokenKeeper(server, services);
  const signingIn = createSigningIn(server, keeper, services);
  let admitting: Promise<Admission> | null = null;
  let renewedOnChallenge: string | null = null;

  const newAttempt = (): void => {
    admitting = null;
    signingIn.drop();
  };

  return {
    signingIn,
    newAttempt,

    accessToken: (account) => told(keeper.current(account)),

    challenged(account, challenge) {
      if (admitting !== null) return admitting; // N1
      const mine = told(admitted(account, challenge)).finally(() => {
        if (admitting === mine) admitting = null;
      });
      admitting = mine;
      return mine;
    },

    state: (url) => authStateOf(keeper.heldFor(url), signingIn, clock.nowMs()),

    reset() {
      newAttempt();
      return keeper.clear();
    },

    async rest() {
      newAttempt();
      await keeper.rest();
    },
  };

  async function admitted(account: OAuthAccount, challenge: Challenge): Promise<Admission> {
    await signingIn.settled(); // To ask for another consent would throw away the one that was just given.
    const { tokens } = keeper.heldFor(account.url);
    if (tokens !== null) {
      const isNews = challenge.rejected !== tokens.accessToken && !isExpired(tokens, clock.nowMs());
      const token = isNews ? tokens : await renewed(account, challenge, tokens);
      if (token !== null) return { kind: 'authorized', token: token.accessToken };
    }
    const wish = {
      scope: scopeFor(account, challenge, tokens),
      resourceMetadata: challenge.resource_metadata,
    };
    return { kind: 'consent', ...(await signingIn.begin(account, wish)) };
  }

  async function renewed(
    account: OAuthAccount,
    { status }: Challenge,
    refused: Tokens,
  ): Promise<Tokens | null> {
    // A token cannot be renewed to more than was granted.
    if (status === 403) return null;
    const ageMs = clock.nowMs() - refused.receivedAtMs;
    if (refused.accessToken === renewedOnChallenge && ageMs < FRESH_MS) return null; // N2
    const tokens = await keeper.refreshed(account);
    renewedOnChallenge = tokens?.accessToken ?? null;
    return tokens;
  }
}

/** What to ask for. Who steps up keeps what was granted before. */
function scopeFor(account: OAuthAccount, challenge: Challenge, tokens: Tokens | null): string | null {
  if (challenge.status === 401) return joinedScope(account.scope, challenge.scope);
  const granted = tokens?.scope ?? null;
  if (covers(granted, challenge.scope)) {
    throw mcpAuthFaults.mcp_sign_in_failed('The server refuses what was granted for it.');
  }
  return joinedScope(account.scope, granted, challenge.scope);
}

async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (failure) {
    throw isFault(failure) ? admissionFault(failure) : failure;
  }
}
