// OAuthProvider: how a session signs in at a remote server.

import type { AuthProvider } from '@modelcontextprotocol/client';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { McpAuth } from './protocol.ts';

export interface RemoteAccount {
  readonly server: string;
  readonly url: string;
  /** Variables resolved. */
  readonly auth: McpAuth;
}

/** Null: nobody signs in, and a server that asks for it leaves its session in the state `auth_required`. */
export function authProviderFor(_context: ActorContext, _account: RemoteAccount): AuthProvider | null {
  return null;
}
