// Failures: what an error of the SDK, of a transport or of the network means to whoever asked.
// X1 No answer to a request that may have been sent means that nobody knows whether it was executed: it is not sent again.
// X2 It was certainly not executed when it never left (no connection, an ended process), or when the server refused it because
//    it did not know its session: a 404, or what some servers answer in its place, a 400 that speaks of the session.

import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { EgressRefused } from '../../egress/guard.ts';
import { errorText, type Fault, isFault } from '../../std/errors.ts';
import type { Mask } from './masking.ts';
import { mcpSessionFaults } from './protocol.ts';
import { NotSent } from './stdio-transport.ts';
import { STREAM_ENDED } from './watched-transport.ts';

const MESSAGE_CHARS_MAX = 500;
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** The SSE transport has no error class of its own for a refused message. */
const REFUSED_POST = /^Error POSTing to endpoint \(HTTP (\d{3})\): (.*)/s;

/** X2. */
export function wasNotExecuted(error: unknown): boolean {
  return error instanceof NotSent || isUnknownSession(error) || neverConnected(error);
}

export function isSignInRequired(error: unknown): boolean {
  return error instanceof UnauthorizedError || statusOf(error)?.status === 401;
}

function isUnknownSession(error: unknown): boolean {
  const refused = statusOf(error);
  if (refused === null) return false;
  return refused.status === 404 || (refused.status === 400 && /session/i.test(refused.text));
}

function statusOf(error: unknown): { readonly status: number; readonly text: string } | null {
  if (error instanceof SdkHttpError) return { status: error.status ?? 0, text: error.message };
  if (error instanceof SseError) return { status: error.code ?? 0, text: error.message };
  const post = error instanceof Error ? REFUSED_POST.exec(error.message) : null;
  return post === null ? null : { status: Number(post[1]), text: post[2] ?? '' };
}

export function neverConnected(error: unknown): boolean {
  return causes(error).some((cause) => NEVER_CONNECTED.has((cause as { readonly code?: unknown }).code));
}

/** The error and what it was caused by; a handful, whatever it claims. */
function causes(error: unknown): readonly Error[] {
  const CAUSES_MAX = 5;
  const chain: Error[] = [];
  for (let one = error; one instanceof Error && chain.length < CAUSES_MAX; one = one.cause) chain.push(one);
  return chain;
}

/** What became of a request. */
export function requestFault(error: unknown, server: string, mask: Mask): Fault {
  if (isFault(error)) return error;
  const text = said(error, mask);
  if (isSignInRequired(error)) {
    return mcpSessionFaults.mcp_sign_in_required(`The server ${server} asks for a sign-in`);
  }
  if (error instanceof ProtocolError && error.code !== STREAM_ENDED) {
    return mcpSessionFaults.mcp_failed(`The server ${server} answered an error: ${text}`);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout) {
    return mcpSessionFaults.mcp_timeout(`The server ${server} did not answer in time`);
  }
  if (wasNotExecuted(error)) {
    return mcpSessionFaults.mcp_connect_failed(`The server ${server} could not be reached: ${text}`);
  }
  if (error instanceof SdkHttpError || statusOf(error) !== null) {
    return mcpSessionFaults.mcp_failed(`The server ${server} refused the request: ${text}`);
  }
  return mcpSessionFaults.mcp_interrupted(`The connection to ${server} broke before its answer: ${text}`);
}

/** Why there is no connection. `hint` is what the server itself said last. */
export function connectFault(error: unknown, server: string, mask: Mask, hint: string | null): Fault {
  if (isFault(error)) return error;
  if (isSignInRequired(error)) {
    return mcpSessionFaults.mcp_sign_in_required(`The server ${server} asks for a sign-in`);
  }
  const refused = causes(error).find((cause) => cause instanceof EgressRefused);
  if (refused !== undefined) return mcpSessionFaults.mcp_config_invalid(refused.message);
  const isLate = error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
  const why = isLate ? 'it did not answer in time' : said(error, mask);
  const all = hint === null ? why : `${why} (${hint})`;
  return mcpSessionFaults.mcp_connect_failed(
    `No connection to ${server}: ${all}`.slice(0, MESSAGE_CHARS_MAX),
  );
}

/** Waiting does not mend it. */
export function isLasting(fault: Fault): boolean {
  return fault.kind === 'invalid' || fault.kind === 'unauthenticated';
}

function said(error: unknown, mask: Mask): string {
  // undici hides what happened behind "fetch failed".
  const texts = causes(error).map(({ message }) => message);
  const text = texts[0] === 'fetch failed' && texts[1] !== undefined ? texts[1] : errorText(error);
  return mask(text).slice(0, MESSAGE_CHARS_MAX);
}
