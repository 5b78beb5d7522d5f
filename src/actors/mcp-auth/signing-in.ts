// SigningIn: the one sign-in of a server that may be under way, from finding its authorization server to stored tokens.
// N1 What a step brings counts only if its sign-in is still the one: a dropped one stores nothing, and is no error.
// N2 `error` is what went wrong last; it stands until the next sign-in begins.
// N3 A registration with which nobody came back in time is not used again: the authorization server may have forgotten it, and
//    then shows that to its user only.

import { isFault } from '../../std/errors.ts';
import type { RandomSource } from '../../std/ids.ts';
import { type Client, covers, operatorsClient, registrationFor, tokensFrom } from './credentials.ts';
import { scopeToAskFor } from './discovery.ts';
import { STEP_MS_MAX, sentenceOf } from './failures.ts';
import {
  type Consent,
  mcpAuthFaults,
  type OAuthAccount,
  SIGN_IN_MS_MAX,
  type SignInEnd,
} from './protocol.ts';
import {
  type Arrival,
  isAwaitedBy,
  isFromIssuer,
  newState,
  refusalSentence,
  type SignIn,
} from './sign-in.ts';
import type { KeeperServices, TokenKeeper } from './token-keeper.ts';

const DEADLINE = { deadlineMs: STEP_MS_MAX };

export interface SigningInServices extends KeeperServices {
  readonly random: RandomSource;
  /** Where browsers come back to; null when there is no such address. */
  readonly redirectUrl: () => string | null;
  /** Runs once, after that time, unless what it answers is called before. */
  readonly after: (delayMs: number, fire: () => void) => () => void;
}

export interface Wish {
  readonly scope: string | null;
  /** Where the server says that its metadata is. */
  readonly resourceMetadata: string | null;
}

export type Settlement = 'signed_in' | 'refused' | 'failed' | 'unknown';

export interface SigningIn {
  /** Joins the one that waits in a browser if it asks for as much, else begins one in its place. */
  begin(account: OAuthAccount, wish: Wish): Promise<Consent>;
  consent(): Consent | null;
  ended(flowId: string): Promise<SignInEnd>;
  /** Resolves when no consent that was given is about to become tokens. */
  settled(): Promise<unknown>;
  awaits(state: string): boolean;
  /** A callback that is awaited. */
  settle(arrival: Arrival): Promise<Settlement>;
  /** N1. False when there was none, or when it is past stopping. */
  cancel(): boolean;
  /** Whatever it is at; and what went wrong last is forgotten. */
  drop(): void;
  readonly isPending: boolean;
  readonly error: string | null;
}

export function createSigningIn(server: string, keeper: TokenKeeper, services: SigningInServices): SigningIn {
  const { clock, random, log, envoy } = services;
  let begun = 0;
  /** The number of the one that is being prepared. */
  let preparing: number | null = null;
  let current: SignIn | null = null;
  let last: { readonly id: string; readonly end: PromiseWithResolvers<SignInEnd> } | null = null;
  let stopTimer = (): void => undefined;
  let error: string | null = null;
  let doubted: string | null = null;

  const signingIn: SigningIn = {
    async begin(account, wish) {
      const wanted = wish.scope;
      if (current?.phase === 'waiting' && current.url === account.url && covers(current.scope, wanted)) {
        return consentOf(current);
      }
      signingIn.drop();
      begun += 1;
      const mine = begun;
      preparing = mine;
      try {
        const prepared = await prepare(account, wish);
        if (preparing !== mine) throw mcpAuthFaults.mcp_sign_in_cancelled('The sign-in was given up.');
        wait(prepared);
        return consentOf(prepared);
      } catch (failure) {
        if (isFault(failure) && preparing === mine) error = sentenceOf(failure);
        throw failure;
      } finally {
        if (preparing === mine) preparing = null;
      }
    },

    consent: () => (current?.phase === 'waiting' ? consentOf(current) : null),

    ended: (flowId) =>
      last?.id === flowId ? last.end.promise : Promise.resolve({ outcome: 'cancelled', error: null }),

    settled: () =>
      current === null || current.phase === 'waiting' ? Promise.resolve() : signingIn.ended(current.id),

    awaits: (state) => isAwaitedBy(current, state, clock.monotonicMs()),

    async settle(arrival) {
      const claimed = inPhase(current as SignIn, 'exchanging');
      stopTimer();
      if (!isFromIssuer(claimed, arrival.iss)) {
        return fail(claimed, 'Another authorization server answered than the one that was asked.');
      }
      if (arrival.code === undefined) {
        fail(claimed, refusalSentence(arrival.error ?? ''));
        return 'refused';
      }
      try {
        return await exchange(claimed, arrival.code, arrival.iss ?? null);
      } catch (failure) {
        if (!isFault(failure)) throw failure;
        return isCurrent(claimed) ? fail(claimed, sentenceOf(failure)) : 'unknown';
      }
    },

    cancel() {
      if (current?.phase === 'storing') return false;
      const isUnderWay = signingIn.isPending || preparing !== null;
      signingIn.drop();
      return isUnderWay;
    },

    drop() {
      preparing = null;
      error = null;
      if (current !== null) end(current, { outcome: 'cancelled', error: null });
    },

    get isPending() {
      return current !== null;
    },
    get error() {
      return error;
    },
  };
  return signingIn;

  async function prepare(account: OAuthAccount, wish: Wish): Promise<SignIn> {
    const redirectUrl = services.redirectUrl();
    if (redirectUrl === null) {
      throw mcpAuthFaults.mcp_sign_in_failed(
        'The browser could not be sent back here: set SVC_OAUTH_REDIRECT_URL.',
      );
    }
    const { url } = account;
    const discovery = await envoy.ask('discover', { url, resourceMetadata: wish.resourceMetadata }, DEADLINE);
    const place = { url, discovery, redirectUrl, scope: scopeToAskFor(discovery, wish.scope) };
    const own = operatorsClient(account);
    const registration =
      own === null ? (known(place) ?? (await envoy.ask('register', place, DEADLINE))) : null;
    const client = own ?? (registration as Client);
    const state = newState(random);
    const asked = await envoy.ask('page', { ...place, client, state }, DEADLINE);
    const begunAtMs = clock.monotonicMs();
    return {
      ...place,
      ...asked,
      id: random.uuid(),
      state,
      client,
      registration,
      begunAtMs,
      phase: 'waiting',
    };
  }

  function known({ url, discovery, redirectUrl }: Pick<SignIn, 'url' | 'discovery' | 'redirectUrl'>) {
    const registration = registrationFor(keeper.heldFor(url), {
      issuer: discovery.issuer,
      redirectUrl,
      nowMs: clock.nowMs(),
    });
    return registration?.id === doubted ? null : registration;
  }

  function wait(prepared: SignIn): void {
    current = prepared;
    last = { id: prepared.id, end: Promise.withResolvers() };
    stopTimer = services.after(SIGN_IN_MS_MAX, () => {
      doubted = prepared.registration?.id ?? null; // N3
      error = 'The sign-in was not finished within ten minutes.';
      end(prepared, { outcome: 'expired', error });
    });
  }

  async function exchange(claimed: SignIn, code: string, iss: string | null): Promise<Settlement> {
    const since = keeper.epoch;
    const granted = await envoy.ask('exchange', { ...claimed, code, iss }, DEADLINE);
    if (!isCurrent(claimed)) return 'unknown';
    inPhase(claimed, 'storing');
    const { url, registration, discovery, scope, client } = claimed;
    const { authorizationServer, resource } = discovery;
    // A server that grants what was asked for need not say so.
    const asked = { refreshToken: null, scope, authorizationServer, resource, clientId: client.id };
    await keeper.keep({ url, registration, tokens: tokensFrom(granted, asked, clock.nowMs()) }, since);
    doubted = null;
    end(claimed, { outcome: 'signed_in', error: null });
    log.info({ category: 'mcp', server }, 'signed in to a server');
    return 'signed_in';
  }

  function fail(failed: SignIn, sentence: string): 'failed' {
    error = sentence;
    end(failed, { outcome: 'failed', error });
    log.warn({ category: 'mcp', server, reason: sentence }, 'a sign-in failed');
    return 'failed';
  }

  function end({ id }: SignIn, how: SignInEnd): void {
    if (current?.id === id) {
      stopTimer();
      current = null;
    }
    if (last?.id === id) last.end.resolve(how);
  }

  function inPhase(signIn: SignIn, phase: SignIn['phase']): SignIn {
    current = { ...signIn, phase };
    return current;
  }

  /** N1. */
  function isCurrent({ id }: SignIn): boolean {
    return current?.id === id;
  }
}

function consentOf({ id, authorizationUrl }: SignIn): Consent {
  return { flow_id: id, authorization_url: authorizationUrl };
}
