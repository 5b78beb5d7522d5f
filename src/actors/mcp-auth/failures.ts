// Failures: what a failed step means for whoever waits for it.

import { type Fault, isFault } from '../../std/errors.ts';
import { mcpAuthFaults } from './protocol.ts';

/** One step at an authorization server: a few requests, each with a deadline of its own. */
export const STEP_MS_MAX = 25_000;

/** Nobody said no: the same may work later. */
export function isPassing(failure: unknown): failure is Fault {
  return isFault(failure) && failure.retryable;
}

const OF_STEPS: ReadonlySet<string> = new Set([
  'authorization_invalid',
  'authorization_unreachable',
  'grant_refused',
  'client_refused',
  'mcp_sign_in_failed',
]);

/** For the user. What fails around a step (a thread, a disk) speaks of itself in the log. */
export function sentenceOf(failure: Fault): string {
  return OF_STEPS.has(failure.code) ? failure.message : `The sign-in failed (${failure.code}).`;
}

/** What a session is told. */
export function admissionFault(failure: Fault): Fault {
  if (failure.code in mcpAuthFaults) return failure;
  return isPassing(failure)
    ? mcpAuthFaults.mcp_authorization_unreachable(sentenceOf(failure))
    : mcpAuthFaults.mcp_sign_in_failed(sentenceOf(failure));
}
