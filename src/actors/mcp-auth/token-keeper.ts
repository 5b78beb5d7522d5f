// TokenKeeper: the credentials of one server, and the one refresh that may be under way.
// K1 New tokens are flushed before anybody gets them: the refresh token that they replace is worth nothing any more.
// K2 A refresh that was begun is awaited by all who ask, and nothing stops it but its deadline: its answer may hold the only
//    valid token. What comes of it is not kept if the credentials were cleared meanwhile.
// K3 Tokens go to the authorization server that gave them only. The MCP server has no say in where that is.

import type { Clock } from '../../std/clock.ts';
import { isFault } from '../../std/errors.ts';
import type { Log } from '../../std/log.ts';
import {
  type Client,
  type Credentials,
  expiresSoon,
  isExpired,
  operatorsClient,
  type Tokens,
  tokensFrom,
} from './credentials.ts';
import type { EnvoyDoor, GrantedTokens } from './envoy-protocol.ts';
import { isPassing, STEP_MS_MAX } from './failures.ts';
import { mcpAuthFaults, type OAuthAccount } from './protocol.ts';
import type { CredentialsStore } from './store.ts';

export interface TokenKeeper {
  /** What there is for that URL. */
  heldFor(url: string): Credentials;
  /** Null when there is none without consent. @throws when the authorization server, which could renew it, is not to be had */
  current(account: OAuthAccount): Promise<string | null>;
  /** Null when the tokens are worth nothing any more; they are gone then. @throws likewise */
  refreshed(account: OAuthAccount): Promise<Tokens | null>;
  /** For `keep`: what was cleared since then is not brought back. */
  readonly epoch: number;
  /** K1. @throws mcp_sign_in_cancelled */
  keep(credentials: Credentials, epoch: number): Promise<void>;
  /** True when there was something. */
  clear(): Promise<boolean>;
  /** Resolves when no refresh is under way. */
  rest(): Promise<void>;
}

export interface KeeperServices {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: CredentialsStore;
  /** Started when it is first asked for. */
  readonly envoy: EnvoyDoor;
}

export function createTokenKeeper(server: string, { clock, log, store, envoy }: KeeperServices): TokenKeeper {
  let credentials: Credentials | null | undefined;
  let refreshing: Promise<Tokens | null> | null = null;
  let epoch = 0;

  const keeper: TokenKeeper = {
    heldFor(url) {
      credentials ??= store.load(server);
      return credentials?.url === url ? credentials : { url, registration: null, tokens: null };
    },

    async current(account) {
      const { tokens } = keeper.heldFor(account.url);
      if (tokens === null) return null;
      if (!expiresSoon(tokens, clock.nowMs())) return tokens.accessToken;
      try {
        const renewed = await keeper.refreshed(account);
        if (renewed !== null) return renewed.accessToken;
      } catch (failure) {
        if (!isPassing(failure) || isExpired(tokens, clock.nowMs())) throw failure;
        return tokens.accessToken;
      }
      // Without a refresh token, the server has the last word on one that has not expired.
      return tokens.refreshToken === null && !isExpired(tokens, clock.nowMs()) ? tokens.accessToken : null;
    },

    refreshed(account) {
      refreshing ??= refresh(account).finally(() => {
        refreshing = null;
      });
      return refreshing;
    },

    get epoch() {
      return epoch;
    },

    async keep(next, since) {
      if (epoch === since) await store.save(server, next);
      // What was cleared while it was saved is removed behind it.
      if (epoch !== since) throw mcpAuthFaults.mcp_sign_in_cancelled('The sign-in was given up.');
      credentials = next;
    },

    clear() {
      epoch += 1;
      credentials = null;
      return store.remove(server);
    },

    async rest() {
      await refreshing?.catch(() => undefined);
    },
  };
  return keeper;

  async function refresh(account: OAuthAccount): Promise<Tokens | null> {
    const since = epoch;
    const held = keeper.heldFor(account.url);
    const { tokens } = held;
    const client = operatorsClient(account) ?? held.registration;
    if (tokens === null || tokens.refreshToken === null) return null;
    if (client?.id !== tokens.clientId) return discard(held, since, 'the client is another');
    try {
      const granted = await ask(account, tokens, client, tokens.refreshToken);
      const next = tokensFrom(granted, tokens, clock.nowMs());
      await keeper.keep({ ...held, tokens: next }, since);
      return next;
    } catch (failure) {
      if (isFault(failure, 'grant_refused')) return discard(held, since, 'the grant has ended');
      if (!isFault(failure, 'client_refused')) throw failure;
      return discard({ ...held, registration: null }, since, 'the client is not known any more');
    }
  }

  /** K3. */
  async function ask(
    { url }: OAuthAccount,
    { authorizationServer, resource }: Tokens,
    client: Client,
    refreshToken: string,
  ): Promise<GrantedTokens> {
    const deadline = { deadlineMs: STEP_MS_MAX };
    const discovery = await envoy.ask('lookUp', { url, authorizationServer, resource }, deadline);
    return envoy.ask('refresh', { url, discovery, client, refreshToken }, deadline);
  }

  async function discard(held: Credentials, since: number, reason: string): Promise<null> {
    log.info({ category: 'mcp', server, reason }, 'the tokens for a server are dropped');
    await keeper.keep({ ...held, tokens: null }, since);
    return null;
  }
}
