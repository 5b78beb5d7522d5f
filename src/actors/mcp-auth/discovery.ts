// Discovery: which authorization server guards an MCP server (RFC 9728), and what it can do (RFC 8414, OpenID).
// D1 The resource is the server that was asked, or holds it; the issuer is the one that was looked up. The SDK checks the latter.
// D2 Only what is needed of the documents is kept: they are as long as their authors like.

import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { type Discovery, envoyFaults } from './envoy-protocol.ts';
import { type Fetch, FetchFailure } from './guarded-fetch.ts';

type Sdk = typeof import('@modelcontextprotocol/client');
type ResourceMetadata = Awaited<ReturnType<Sdk['discoverOAuthProtectedResourceMetadata']>>;

const OFFLINE_ACCESS = 'offline_access';

export interface Question {
  readonly url: string;
  /** Where the server says that its metadata is; null: at the usual place. */
  readonly resourceMetadata: string | null;
  readonly fetch: Fetch;
}

export async function discovered(sdk: Sdk, question: Question): Promise<Discovery> {
  const { url, fetch } = question;
  const resource = await resourceMetadataOf(sdk, question);
  refuseOtherResource(sdk, url, resource);
  // Servers of the first days guard themselves.
  const authorizationServer = resource?.authorization_servers?.[0] ?? new URL('/', url).href;
  const found = await lookedUp(sdk, { authorizationServer, resource: resource?.resource ?? null, fetch });
  return { ...found, scope: resource?.scopes_supported?.join(' ') || null };
}

export async function lookedUp(
  sdk: Sdk,
  {
    authorizationServer,
    resource,
    fetch,
  }: Pick<Discovery, 'authorizationServer' | 'resource'> & Pick<Question, 'fetch'>,
): Promise<Discovery> {
  const metadata = await sdk.discoverAuthorizationServerMetadata(authorizationServer, { fetchFn: fetch });
  return {
    authorizationServer,
    issuer: metadata?.issuer ?? authorizationServer,
    metadata: metadata === undefined ? null : neededOf(metadata),
    resource,
    scope: null,
    grantsOfflineAccess: metadata?.scopes_supported?.includes(OFFLINE_ACCESS) ?? false,
  };
}

/** The scope to ask for. Without `offline_access` some servers give no refresh token. */
export function scopeToAskFor(
  { scope, grantsOfflineAccess }: Discovery,
  wanted: string | null,
): string | null {
  const asked = wanted ?? scope;
  if (asked === null || !grantsOfflineAccess || asked.split(' ').includes(OFFLINE_ACCESS)) return asked;
  return `${asked} ${OFFLINE_ACCESS}`;
}

/** Null when the server has none. */
async function resourceMetadataOf(
  sdk: Sdk,
  { url, resourceMetadata, fetch }: Question,
): Promise<ResourceMetadata | null> {
  const at = resourceMetadata === null ? {} : { resourceMetadataUrl: resourceMetadata };
  try {
    return await sdk.discoverOAuthProtectedResourceMetadata(url, at, fetch);
  } catch (error) {
    // A document that is not there, or is none, is as good as none; one that may not be fetched is a reason to stop.
    if (error instanceof FetchFailure || error instanceof TypeError) throw error;
    return null;
  }
}

/** D1. */
function refuseOtherResource(sdk: Sdk, url: string, metadata: ResourceMetadata | null): void {
  if (metadata === null) return;
  const isAllowed =
    URL.canParse(metadata.resource) &&
    sdk.checkResourceAllowed({
      requestedResource: sdk.resourceUrlFromServerUrl(url),
      configuredResource: metadata.resource,
    });
  if (!isAllowed) {
    throw envoyFaults.authorization_invalid('The server says that its tokens are for another server.');
  }
}

/** D2. */
function neededOf(metadata: AuthorizationServerMetadata): AuthorizationServerMetadata {
  return {
    issuer: metadata.issuer,
    authorization_endpoint: metadata.authorization_endpoint,
    token_endpoint: metadata.token_endpoint,
    response_types_supported: metadata.response_types_supported,
    registration_endpoint: metadata.registration_endpoint,
    code_challenge_methods_supported: metadata.code_challenge_methods_supported,
    token_endpoint_auth_methods_supported: metadata.token_endpoint_auth_methods_supported,
    authorization_response_iss_parameter_supported: metadata.authorization_response_iss_parameter_supported,
  } as AuthorizationServerMetadata;
}
