// EnvoyFailures: what went wrong at an authorization server, in sentences that hold nothing of its own words.

import type { Fault } from '../../std/errors.ts';
import { envoyFaults } from './envoy-protocol.ts';
import { FetchFailure, type FetchFailureReason } from './guarded-fetch.ts';

type Sdk = typeof import('@modelcontextprotocol/client');

/** The SDK throws errors of its own, and those of the schemas that the documents did not fit. */
export function faultOf(sdk: Sdk, error: unknown): Fault {
  if (error instanceof FetchFailure) return faultOfFetch(error.reason);
  if (error instanceof sdk.OAuthError) return faultOfCode(String(error.code));
  if (error instanceof sdk.RegistrationRejectedError) {
    return envoyFaults.authorization_invalid(
      `The authorization server did not register this service as a client (status ${error.status}).`,
    );
  }
  if (error instanceof sdk.IssuerMismatchError) {
    return envoyFaults.authorization_invalid(
      'The authorization server goes by another name than the one it was found under.',
    );
  }
  if (error instanceof sdk.InsecureTokenEndpointError) return faultOfFetch('plain http');
  return envoyFaults.authorization_invalid('The authorization server said something that makes no sense.');
}

function faultOfFetch(reason: FetchFailureReason): Fault {
  switch (reason) {
    case 'unreachable':
    case 'late':
    case 'failing':
      return envoyFaults.authorization_unreachable(
        `The authorization server could not be asked (${reason}).`,
      );
    case 'too large':
    case 'redirected':
      return envoyFaults.authorization_invalid(`The authorization server gave no usable answer (${reason}).`);
    case 'plain http':
    case 'address not allowed':
      return envoyFaults.authorization_invalid(
        `The server names an authorization server that may not be asked (${reason}).`,
      );
  }
}

function faultOfCode(code: string): Fault {
  switch (code) {
    case 'invalid_client':
    case 'unauthorized_client':
      return envoyFaults.client_refused('The authorization server does not know this client.');
    case 'server_error':
    case 'temporarily_unavailable':
    case 'too_many_requests':
      return envoyFaults.authorization_unreachable('The authorization server could not be asked (failing).');
    default:
      return envoyFaults.grant_refused('The authorization server refused to give a token.');
  }
}
