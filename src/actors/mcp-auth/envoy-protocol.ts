// Envoy: what mcp-auth has done at authorization servers. Each message is one step; what it needs comes with it.

import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { declareFaults } from '../../std/errors.ts';
import { call, protocol, type Ref } from '../../supervisor/protocol.ts';
import type { Client, Registration } from './credentials.ts';

/** The messages are sentences of ours, for the user. */
export const envoyFaults = declareFaults({
  /** What the servers say does not fit together, or leads where we do not go. */
  authorization_invalid: 'upstream',
  authorization_unreachable: 'unavailable',
  /** The code or the refresh token is worth nothing any more. */
  grant_refused: 'upstream',
  /** The authorization server does not know the client. */
  client_refused: 'upstream',
});

/** Who grants access to a server, and how. Checked: the issuer is its own, the resource is the server. */
export interface Discovery {
  readonly authorizationServer: string;
  readonly issuer: string;
  /** Null: a server of the first days, whose endpoints have fixed names. */
  readonly metadata: AuthorizationServerMetadata | null;
  /** What tokens are asked for (RFC 8707); null when the server does not say. */
  readonly resource: string | null;
  /** What the server knows of; asked for where nobody says what is wanted. */
  readonly scope: string | null;
  readonly grantsOfflineAccess: boolean;
}

/** Null is what the server did not say a word of. */
export interface GrantedTokens {
  readonly accessToken: string;
  readonly refreshToken: string | null;
  readonly scope: string | null;
  readonly expiresInMs: number | null;
}

export interface AtServer {
  /** Of the MCP server: decides where requests may go. */
  readonly url: string;
  readonly discovery: Discovery;
}

export const envoy = protocol('mcp-envoy', {
  discover: call<{ readonly url: string; readonly resourceMetadata: string | null }, Discovery>({
    faults: envoyFaults,
  }),
  /** The same, of tokens that are held: the MCP server is not asked again. */
  lookUp: call<
    { readonly url: string; readonly authorizationServer: string; readonly resource: string | null },
    Discovery
  >({ faults: envoyFaults }),
  register: call<AtServer & { readonly redirectUrl: string; readonly scope: string | null }, Registration>({
    faults: envoyFaults,
  }),
  /** The page to open, and what proves later that we had it opened. */
  page: call<
    AtServer & {
      readonly client: Client;
      readonly redirectUrl: string;
      readonly state: string;
      readonly scope: string | null;
    },
    { readonly authorizationUrl: string; readonly verifier: string }
  >({ faults: envoyFaults }),
  exchange: call<
    AtServer & {
      readonly client: Client;
      readonly redirectUrl: string;
      readonly code: string;
      /** Of the callback (RFC 9207). */
      readonly iss: string | null;
      readonly verifier: string;
    },
    GrantedTokens
  >({ faults: envoyFaults }),
  refresh: call<AtServer & { readonly client: Client; readonly refreshToken: string }, GrantedTokens>({
    faults: envoyFaults,
  }),
});

/** All that its askers need of it. */
export type EnvoyDoor = Pick<Ref<typeof envoy>, 'ask'>;
