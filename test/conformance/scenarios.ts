// Scenarios: what is expected of each of the conformance package's. `because` says why one is not passed, for docs/mcp.md too.

export interface Scenario {
  readonly name: string;
  /** Absent from those that pass. */
  readonly because?: string;
  /** Takes a second or two, and depends on no time: a part of the test suite. */
  readonly isQuick?: true;
}

const NO_MACHINE_GRANTS = 'a grant for programs without a user; Troupe signs in users';

export const CLIENT_SCENARIOS: readonly Scenario[] = [
  { name: 'initialize', isQuick: true },
  { name: 'tools_call', isQuick: true },
  { name: 'elicitation-sep1034-client-defaults', isQuick: true },
  { name: 'sse-retry' },
  { name: 'auth/metadata-default', isQuick: true },
  { name: 'auth/metadata-var1' },
  { name: 'auth/metadata-var2' },
  { name: 'auth/metadata-var3' },
  {
    name: 'auth/basic-cimd',
    because:
      'passes all but a "should": a client that is named by the URL of its own description needs a public https address',
  },
  { name: 'auth/scope-from-www-authenticate' },
  { name: 'auth/scope-from-scopes-supported' },
  { name: 'auth/scope-omitted-when-undefined' },
  { name: 'auth/scope-step-up' },
  { name: 'auth/scope-retry-limit' },
  { name: 'auth/token-endpoint-auth-basic' },
  { name: 'auth/token-endpoint-auth-post' },
  { name: 'auth/token-endpoint-auth-none' },
  { name: 'auth/pre-registration' },
  {
    name: 'auth/2025-03-26-oauth-metadata-backcompat',
    because:
      'its authorization server bears another name (issuer) than the one it was found under, which RFC 8414 (3.3) says to refuse',
  },
  { name: 'auth/2025-03-26-oauth-endpoint-fallback' },
  { name: 'auth/resource-mismatch' },
  { name: 'auth/offline-access-scope' },
  { name: 'auth/offline-access-not-supported' },
  { name: 'auth/client-credentials-jwt', because: NO_MACHINE_GRANTS },
  { name: 'auth/client-credentials-basic', because: NO_MACHINE_GRANTS },
  { name: 'auth/cross-app-access-complete-flow', because: NO_MACHINE_GRANTS },
];

/** Those of the package that need no tool, prompt or resource of the package's own. */
export const SERVER_SCENARIOS: readonly Scenario[] = [
  { name: 'server-initialize', isQuick: true },
  { name: 'ping', isQuick: true },
  { name: 'tools-list', isQuick: true },
  { name: 'dns-rebinding-protection', isQuick: true },
  { name: 'server-sse-multiple-streams', isQuick: true },
];
