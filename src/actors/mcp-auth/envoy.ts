// Envoy actor: talks to authorization servers, on the thread of the sessions, where the SDK is loaded anyway. Keeps nothing.
// V1 Everything that a server names goes through the guarded fetch.
// V2 What the SDK throws is told in sentences of ours.

import { policyBeside, refusalOf } from '../../egress/guard.ts';
import { isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Client } from './credentials.ts';
import { discovered, lookedUp } from './discovery.ts';
import { faultOf } from './envoy-failures.ts';
import { type Discovery, envoy, envoyFaults, type GrantedTokens } from './envoy-protocol.ts';
import { type Fetch, isConfidential, openGuardedFetch } from './guarded-fetch.ts';

const CLIENT_NAME = 'Troupe';
/** The first that both sides can: without a secret there is none to keep, and PKCE proves who asks. */
const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'];

export const envoyActor = actor({
  module: import.meta.url,
  exportName: 'envoyActor',
  protocol: envoy,
  async setup(context: ActorContext<typeof envoy>) {
    // Loaded when somebody signs in, not with the service.
    const sdk = await import('@modelcontextprotocol/client');
    const guarded = openGuardedFetch(context.clock);
    context.onStop(() => guarded.close());

    return {
      discover: ({ url, resourceMetadata }, { signal }) =>
        told(async () => {
          if (!isConfidential(new URL(url))) {
            throw envoyFaults.authorization_invalid(
              'A server that wants a sign-in has to be asked over https.',
            );
          }
          return discovered(sdk, { url, resourceMetadata, fetch: await fetchBeside(url, signal) });
        }),

      lookUp: ({ url, authorizationServer, resource }, { signal }) =>
        told(async () =>
          lookedUp(sdk, { authorizationServer, resource, fetch: await fetchBeside(url, signal) }),
        ),

      register: ({ url, discovery, redirectUrl, scope }, { signal }) =>
        told(async () => {
          const order = {
            ...registering(discovery),
            clientMetadata: clientMetadata(discovery, redirectUrl),
            fetchFn: await fetchBeside(url, signal),
          };
          const registered = await sdk
            .registerClient(discovery.authorizationServer, { ...order, ...(scope === null ? {} : { scope }) })
            .catch((error: unknown) => {
              // Some take only scopes of their own here, and those of their resources when they are asked for a token.
              if (scope === null || !(error instanceof sdk.RegistrationRejectedError)) throw error;
              return sdk.registerClient(discovery.authorizationServer, order);
            });
          const endsAtSeconds = registered.client_secret_expires_at ?? 0;
          return {
            id: registered.client_id,
            secret: registered.client_secret ?? null,
            authMethod: registered.token_endpoint_auth_method ?? null,
            issuer: discovery.issuer,
            redirectUrl,
            expiresAtMs: endsAtSeconds === 0 ? null : endsAtSeconds * 1000,
          };
        }),

      page: ({ url, discovery, client, redirectUrl, state, scope }) =>
        told(async () => {
          const begun = await sdk.startAuthorization(discovery.authorizationServer, {
            ...known(discovery),
            clientInformation: informationOf(client),
            redirectUrl,
            state,
            ...(scope === null ? {} : { scope }),
          });
          await refuseBadPage(begun.authorizationUrl, url);
          return { authorizationUrl: begun.authorizationUrl.href, verifier: begun.codeVerifier };
        }),

      exchange: ({ url, discovery, client, redirectUrl, code, iss, verifier }, { signal }) =>
        told(async () => {
          const tokens = await sdk.exchangeAuthorization(discovery.authorizationServer, {
            ...known(discovery),
            clientInformation: informationOf(client),
            authorizationCode: code,
            ...(iss === null ? {} : { iss }),
            codeVerifier: verifier,
            redirectUri: redirectUrl,
            fetchFn: await fetchBeside(url, signal),
          });
          return grantedOf(tokens);
        }),

      refresh: ({ url, discovery, client, refreshToken }, { signal }) =>
        told(async () => {
          const tokens = await sdk.refreshAuthorization(discovery.authorizationServer, {
            ...known(discovery),
            clientInformation: informationOf(client),
            refreshToken,
            fetchFn: await fetchBeside(url, signal),
          });
          return grantedOf(tokens);
        }),
    };

    /** V1. */
    async function fetchBeside(url: string, signal: AbortSignal): Promise<Fetch> {
      return guarded.under(await policyBeside(url), AbortSignal.any([signal, context.signal]));
    }

    /** V2. */
    async function told<T>(step: () => Promise<T>): Promise<T> {
      try {
        return await step();
      } catch (error) {
        throw isFault(error) ? error : faultOf(sdk, error);
      }
    }
  },
});

/** What every step at an authorization server needs to know of it. */
function known({ metadata, resource }: Discovery) {
  return { ...(metadata === null ? {} : { metadata }), ...(resource === null ? {} : { resource }) };
}

function registering({ metadata }: Discovery) {
  if (metadata === null) return {};
  if (metadata.registration_endpoint) return { metadata };
  throw envoyFaults.authorization_invalid(
    'The authorization server does not register clients by itself: this server needs a client_id in its auth.',
  );
}

function clientMetadata(discovery: Discovery, redirectUrl: string) {
  return {
    client_name: CLIENT_NAME,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authMethodAt(discovery),
    application_type: redirectUrl.startsWith('http:') ? 'native' : 'web',
  };
}

function authMethodAt({ metadata }: Discovery): string {
  // RFC 8414: a server that does not say takes the basic one.
  const taken = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  return AUTH_METHODS.find((one) => taken.includes(one)) ?? 'client_secret_basic';
}

function informationOf({ id, secret, authMethod }: Client) {
  return {
    client_id: id,
    ...(secret === null ? {} : { client_secret: secret }),
    ...(authMethod === null ? {} : { token_endpoint_auth_method: authMethod }),
  };
}

/** It will be opened in a browser, which can reach what we would not. */
async function refuseBadPage(page: URL, beside: string): Promise<void> {
  if (isConfidential(page) && (await refusalOf(await policyBeside(beside), page.href)) === null) return;
  throw envoyFaults.authorization_invalid(
    'The page on which to consent has an address that is not allowed here.',
  );
}

interface TokenAnswer {
  readonly access_token: string;
  readonly token_type: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires_in?: number | undefined;
}

function grantedOf(tokens: TokenAnswer): GrantedTokens {
  if (tokens.token_type.toLowerCase() !== 'bearer') {
    throw envoyFaults.authorization_invalid(
      'The authorization server gave a token of another kind than bearer.',
    );
  }
  return {
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token ?? null,
    scope: tokens.scope ?? null,
    expiresInMs: tokens.expires_in === undefined ? null : tokens.expires_in * 1000,
  };
}
