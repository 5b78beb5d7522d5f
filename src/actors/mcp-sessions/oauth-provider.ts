// OAuthProvider: how a session is let in by a remote server: with tokens of mcp-auth, which does all the signing in.
// O1 A session holds no token longer than a request, but to mask it, and never sees more than access tokens.
// O2 Whoever is refused says which token it was: of many that are refused at once only the first makes mcp-auth renew it.
// O3 A token that reaches too little (403, `insufficient_scope`) takes the same way as one that is not taken at all (401): the SDK
//    asks again, once.

import {
  type AuthProvider,
  extractWWWAuthenticateParams,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import { AUTHORIZATION_MS_MAX, type Challenge, mcpAuth } from '../mcp-auth/protocol.ts';
import type { McpAuth } from './protocol.ts';

export interface RemoteAccount {
  readonly server: string;
  readonly url: string;
  /** Variables resolved. */
  readonly auth: McpAuth;
}

export interface SignedIn {
  readonly authProvider: AuthProvider;
  readonly fetch: Fetch;
}

type Fetch = typeof globalThis.fetch;
type Refusal = Pick<Challenge, 'status' | 'rejected'>;

const DEADLINE = { deadlineMs: AUTHORIZATION_MS_MAX };

/**
 * For a transport: both halves know of each other. A request that needs a consent fails with an UnauthorizedError. `onToken` hears
 * of each token before it is sent.
 */
export function signedIn(
  context: Pick<ActorContext, 'ask'>,
  { server, url, auth }: RemoteAccount,
  fetch: Fetch,
  onToken: (token: string) => void,
): SignedIn {
  const account = {
    server,
    url,
    scope: auth.scope ?? null,
    client_id: auth.client_id ?? null,
    client_secret: auth.client_secret ?? null,
  };
  /** What the SDK has to be told about a response beyond what it says itself. */
  const refusals = new WeakMap<Response, Refusal>();

  return {
    authProvider: {
      async token() {
        const { token } = await context.ask(mcpAuth, 'accessToken', { account }, DEADLINE);
        if (token === null) return undefined;
        onToken(token);
        return token;
      },

      async onUnauthorized({ response }) {
        const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
        const challenge: Challenge = {
          ...(refusals.get(response) ?? { status: 401, rejected: null }),
          resource_metadata: resourceMetadataUrl?.href ?? null,
          scope: scope ?? null,
        };
        if (!(await isLetIn(challenge))) throw new UnauthorizedError('Somebody has to sign in');
      },
    },

    async fetch(input, init) {
      const response = await fetch(input, init);
      const isStepUp =
        response.status === 403 && extractWWWAuthenticateParams(response).error === 'insufficient_scope';
      if (response.status !== 401 && !isStepUp) return response;
      const refused = isStepUp ? asUnauthorized(response) : response;
      const bearer = /^Bearer (.+)$/i.exec(new Headers(init?.headers).get('authorization') ?? '');
      refusals.set(refused, { status: isStepUp ? 403 : 401, rejected: bearer?.[1] ?? null }); // O2
      return refused;
    },
  };

  async function isLetIn(challenge: Challenge): Promise<boolean> {
    try {
      const { kind } = await context.ask(mcpAuth, 'challenged', { account, challenge }, DEADLINE);
      return kind === 'authorized';
    } catch (error) {
      // To ask again by itself would open the sign-in that somebody has just closed.
      if (isFault(error, 'mcp_sign_in_cancelled')) return false;
      throw error;
    }
  }
}

/** O3. */
function asUnauthorized(response: Response): Response {
  void response.body?.cancel().catch(() => undefined);
  return new Response(null, { status: 401, headers: response.headers });
}
