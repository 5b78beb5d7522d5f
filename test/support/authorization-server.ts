// A real authorization server (oidc-provider) on 127.0.0.1, whose only user agrees to everything, unless a test says no.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';

/** Known without registration. */
export const STATIC_CLIENT = { id: 'troupe-by-hand', secret: 'hush-this-is-the-secret-of-troupe' } as const;
const RESOURCE_SERVER = { id: 'resource-server', secret: 'the-resource-server-may-introspect' } as const;
const SCOPES = 'mcp:tools mcp:admin';
const USER = 'somebody';
const DAY_SECONDS = 86_400;

export interface AuthorizationServerOptions {
  /** Clients register themselves; true when absent. */
  readonly registration?: boolean;
  /** How long access tokens hold; an hour when absent. */
  readonly accessTokenSeconds?: number;
  /** Whoever is let in may renew it; true when absent. */
  readonly refreshTokens?: boolean;
}

export interface AuthorizationServer {
  readonly issuer: string;
  /** What it was asked for, in order: `register`, `authorization_code`, `refresh_token`; failed ones with an exclamation mark. */
  readonly asked: readonly string[];
  /** Opens the page as a browser does; answers where it is sent back to, without going there. */
  consent(authorizationUrl: string, options?: { readonly deny?: boolean }): Promise<URL>;
  /** What a token is good for; null when it is good for nothing (RFC 7662). */
  introspect(token: string): Promise<{
    readonly scope: string;
    readonly aud: string;
    readonly exp: number;
    readonly client_id: string;
  } | null>;
  /** As if the user had taken the consents back. */
  revokeGrants(): Promise<void>;
  forgetClients(): Promise<void>;
  /** Answers 503 to everything for as long as it is true. */
  isFailing: boolean;
  /** Every token that it has given. */
  readonly given: ReadonlySet<string>;
  close(): Promise<void>;
}

export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<AuthorizationServer> {
  const asked: string[] = [];
  const grants = new Set<string>();
  const clients = new Set<string>();
  const given = new Set<string>();
  let denies = false;
  let provider: Provider | null = null;
  const http = createServer((request, response) => {
    void answer(provider as Provider, request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  provider = new Provider(issuer, configuration(options));
  provider.on('registration_create.success', (_context, client) => {
    clients.add((client as { readonly clientId: string }).clientId);
    asked.push('register');
  });
  provider.on('grant.success', ({ oidc }) => asked.push(oidc.params?.['grant_type'] ?? '?'));
  provider.on('grant.error', ({ oidc }) => asked.push(`${oidc.params?.['grant_type'] ?? '?'}!`));

  for (const kind of ['access_token', 'refresh_token']) {
    provider.on(`${kind}.saved`, (token) => given.add((token as unknown as { readonly jti: string }).jti));
  }

  async function answer(to: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (server.isFailing) response.writeHead(503).end();
    else if (request.url?.startsWith('/interaction/')) await agree(to, request, response);
    else to.callback()(request, response);
  }

  async function agree(to: Provider, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await to.interactionDetails(request, response);
    if (denies) {
      const refusal = { error: 'access_denied', error_description: '<b>no</b>' };
      return to.interactionFinished(request, response, refusal, { mergeWithLastSubmission: false });
    }
    const grant = new to.Grant({ accountId: USER, clientId: params['client_id'] ?? '' });
    grant.addOIDCScope('openid offline_access');
    grant.addResourceScope(params['resource'] ?? '', params['scope'] ?? '');
    const grantId = await grant.save();
    grants.add(grantId);
    const result = { login: { accountId: USER }, consent: { grantId } };
    return to.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
  }

  const server: AuthorizationServer = {
    issuer,
    asked,
    given,
    isFailing: false,
    async consent(authorizationUrl, { deny = false } = {}) {
      denies = deny;
      return follow(authorizationUrl, issuer);
    },
    async introspect(token) {
      const answered = await fetch(`${issuer}/token/introspection`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${Buffer.from(`${RESOURCE_SERVER.id}:${RESOURCE_SERVER.secret}`).toString('base64')}`,
        },
        body: new URLSearchParams({ token }),
      });
      const said = (await answered.json()) as { active?: boolean };
      return said.active === true ? (said as never) : null;
    },
    async revokeGrants() {
      const { Grant, RefreshToken, AccessToken } = provider as Provider;
      for (const grantId of grants) {
        await Grant.adapter.destroy(grantId);
        await RefreshToken.adapter.revokeByGrantId(grantId);
        await AccessToken.adapter.revokeByGrantId(grantId);
      }
      grants.clear();
    },
    async forgetClients() {
      for (const id of clients) await (provider as Provider).Client.adapter.destroy(id);
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

function configuration({
  registration = true,
  accessTokenSeconds = 3600,
  refreshTokens = true,
}: AuthorizationServerOptions) {
  return {
    clients: [
      {
        client_id: STATIC_CLIENT.id,
        client_secret: STATIC_CLIENT.secret,
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/api/mcp/oauth/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      },
      {
        client_id: RESOURCE_SERVER.id,
        client_secret: RESOURCE_SERVER.secret,
        redirect_uris: [],
        response_types: [],
        grant_types: [],
      },
    ],
    features: {
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      registration: { enabled: registration },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        useGrantedResource: () => true,
        getResourceServerInfo: (_context: unknown, resource: string) => ({
          scope: SCOPES,
          audience: resource,
          accessTokenFormat: 'opaque',
          accessTokenTTL: accessTokenSeconds,
        }),
      },
    },
    interactions: { url: (_context: unknown, { uid }: { readonly uid: string }) => `/interaction/${uid}` },
    findAccount: (_context: unknown, sub: string) => ({ accountId: sub, claims: () => ({ sub }) }),
    rotateRefreshToken: true,
    issueRefreshToken: () => refreshTokens,
    cookies: { keys: ['for tests'] },
    ttl: {
      AuthorizationCode: 600,
      Grant: DAY_SECONDS,
      Interaction: 3600,
      RefreshToken: DAY_SECONDS,
      Session: 3600,
    },
  };
}

const HOPS_MAX = 10;

/** Goes where it is sent, cookies in hand, as long as that is the same site. */
async function follow(start: string, site: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let at = new URL(start);
  for (let hop = 0; hop < HOPS_MAX; hop += 1) {
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';');
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    const location = response.headers.get('location');
    if (location === null)
      throw new Error(`${at.pathname} answered ${response.status}: ${await response.text()}`);
    await response.body?.cancel();
    at = new URL(location, at);
    if (at.origin !== site) return at;
  }
  throw new Error('the consent goes round in circles');
}
