// mcp-auth on a real system and real storage, and sessions of the SDK that it lets in. One for a file: `const system = await
// openAuthSystem()` and `afterAll(() => system.close())`. Servers do not notice each other: each has the name that follows from
// its URL. With `threads` the envoy lives on one of its own, as it does in the service; that takes its time to start.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { vi } from 'vitest';
import { mcpAuthActor } from '../../../src/actors/mcp-auth/actor.ts';
import {
  type AuthState,
  type Challenge,
  type Consent,
  mcpAuth,
  type OAuthAccount,
} from '../../../src/actors/mcp-auth/protocol.ts';
import { signedIn } from '../../../src/actors/mcp-sessions/oauth-provider.ts';
import { MCP_THREAD, type McpAuth } from '../../../src/actors/mcp-sessions/protocol.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { openStorage } from '../../../src/storage/storage.ts';
import type { ActorContext } from '../../../src/supervisor/actor.ts';
import { child } from '../../../src/supervisor/children.ts';
import type { Ref } from '../../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../../src/supervisor/system.ts';
import { eventually } from '../../support/eventually.ts';
import type { OAuthMcpServer } from '../../support/oauth-mcp-server.ts';

/** For machines that are busy with other things. */
const PATIENT = { deadlineMs: 90_000 };
vi.setConfig({ testTimeout: 90_000, hookTimeout: 90_000 });
const SERVED_AT = 'http://127.0.0.1:12319';

export function nameOf(url: string): string {
  const { port, pathname } = new URL(url);
  return `server-${port}${pathname.replaceAll('/', '-')}`;
}

export interface AuthSystemOptions {
  readonly clock?: Clock;
  readonly redirectOverride?: string;
  readonly servedAt?: string | null;
  readonly threads?: boolean;
}

export interface AuthSystem {
  readonly directory: string;
  readonly auth: Pick<Ref<typeof mcpAuth>, 'ask'>;
  /** A session with the server, connected; or the consent that it takes. */
  connect(
    url: string,
    options?: { readonly server?: string; readonly auth?: Partial<McpAuth> },
  ): Promise<Connected>;
  /** Connects, consents and connects again, as a user does. */
  signIn(remote: OAuthMcpServer, auth?: Partial<McpAuth>): Promise<Client>;
  /** The browser comes back. */
  comeBack(to: URL): Promise<string>;
  state(url: string, server?: string): Promise<AuthState>;
  /** Kills the thread of the envoy; resolves when another has taken its place. */
  loseEnvoy(): Promise<void>;
  /** Stops everything and starts it again on the same folder. */
  restart(options?: AuthSystemOptions): Promise<AuthSystem>;
  close(): Promise<void>;
}

export type Connected =
  | { readonly kind: 'connected'; readonly client: Client }
  | { readonly kind: 'consent'; readonly consent: Consent };

export async function openAuthSystem(options: AuthSystemOptions = {}): Promise<AuthSystem> {
  const directory = await mkdtemp(join(tmpdir(), 'mcp-auth-'));
  return openIn(directory, options);
}

async function openIn(directory: string, options: AuthSystemOptions): Promise<AuthSystem> {
  const storage = await openStorage({ directory, primary: true });
  const { servedAt = SERVED_AT, redirectOverride, clock = systemClock } = options;
  const system = await createActorSystem({
    clock,
    services: { storage, version: '0.0.0' },
    ...(options.threads ? { threads: { spare: false } } : {}),
    children: [
      child(
        mcpAuthActor,
        { keyFile: join(directory, 'settings.key'), redirectOverride, servedAt: () => servedAt },
        { id: 'mcp-auth', name: true },
      ),
    ],
  });
  const clients = new Set<Client>();
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    for (const client of clients) await client.close();
    await system.stop();
    await storage.close();
  };
  const named = system.named(mcpAuth);
  const ask: typeof named.ask = (name, message, asking) =>
    named.ask(name, message, { ...PATIENT, ...asking });
  const auth = { ask };
  const context = { ask: (_protocol, name, message) => ask(name as never, message as never) } as Pick<
    ActorContext,
    'ask'
  >;

  const opened: AuthSystem = {
    directory,
    auth,

    async signIn({ url, authorization }, configured = {}) {
      const { authorization_url } = consentOf(await opened.connect(url, { auth: configured }));
      const outcome = await opened.comeBack(await authorization.consent(authorization_url));
      if (outcome !== 'signed_in') throw new Error(`the sign-in was ${outcome}`);
      return clientOf(await opened.connect(url, { auth: configured }));
    },

    async connect(url, { server = nameOf(url), auth: configured = {} } = {}) {
      const account = { server, url, auth: { type: 'oauth' as const, ...configured } };
      const { authProvider, fetch: ownFetch } = signedIn(context, account, fetch, () => undefined);
      const client = new Client({ name: 'test', version: '1' });
      clients.add(client);
      try {
        await client.connect(
          new StreamableHTTPClientTransport(new URL(url), { authProvider, fetch: ownFetch }),
        );
        return { kind: 'connected', client };
      } catch (error) {
        const consent = await auth.ask('consent', { server });
        if (consent === null) throw error;
        return { kind: 'consent', consent };
      }
    },

    async comeBack(to) {
      const { code, state, error, iss } = Object.fromEntries(to.searchParams);
      const arrival = { code, state, error, iss };
      return (await auth.ask('settleSignIn', arrival as never)).outcome;
    },

    async state(url, server = nameOf(url)) {
      return (await auth.ask('states', { servers: [{ server, url }] }))[server] as AuthState;
    },

    async loseEnvoy() {
      const envoyThread = () => system.threads().find(({ name }) => name === MCP_THREAD)?.thread;
      const lost = envoyThread();
      await system.terminateThread(lost as number);
      await eventually(() => [undefined, lost].includes(envoyThread())).toBe(false);
    },

    async restart(changed = options) {
      await close();
      return openIn(directory, changed);
    },

    async close() {
      await close();
      await rm(directory, { recursive: true, force: true });
    },
  };
  return opened;
}

export function accountFor(url: string, changed: Partial<OAuthAccount> = {}): OAuthAccount {
  return { server: nameOf(url), url, scope: null, client_id: null, client_secret: null, ...changed };
}

export function unauthorized(changed: Partial<Challenge> = {}): Challenge {
  return { status: 401, rejected: null, resource_metadata: null, scope: null, ...changed };
}

/** Of one that has to be asked for. @throws when there is none */
export function consentOf(connected: Connected): Consent {
  if (connected.kind === 'connected') throw new Error('it was let in without a consent');
  return connected.consent;
}

/** @throws when there is none */
export function clientOf(connected: Connected): Client {
  if (connected.kind === 'consent') throw new Error('it takes a consent');
  return connected.client;
}
