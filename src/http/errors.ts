// Errors: every failure becomes a status and a JSON body `{ error, ...details }`, here and nowhere else.
// R1 The map from kind to status is total: a new kind does not compile until it has a status.
// R2 A body never holds a stack, nor the text of an error that nobody declared: that text goes to the log, and the body
//    names the request under which to find it.
// R3 What may succeed later says when: 429 and 503 carry `Retry-After`.

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { declareFaults, Fault, type FaultKind } from '../std/errors.ts';
import type { Log } from '../std/log.ts';

export const STATUS_OF_KIND: Readonly<Record<FaultKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported: 415,
  unprocessable: 422,
  locked: 423,
  rate_limited: 429,
  failed: 500,
  internal: 500,
  upstream: 502,
  // The caller gave up or the service is going down: whoever still reads may ask again.
  cancelled: 503,
  unavailable: 503,
  timeout: 504,
};

export const edgeFaults = declareFaults({
  request_invalid: 'invalid',
  json_invalid: 'invalid',
  path_unknown: 'not_found',
  method_not_allowed: 'not_allowed',
  body_too_large: 'too_large',
  content_type_unsupported: 'unsupported',
  streams_exhausted: 'unavailable',
  /** The page, or the name, under which the request came is none of ours. */
  caller_refused: 'forbidden',
  sessions_full: 'unavailable',
  call_ended: 'cancelled',
  /** Details: `code: 'no_file'`. */
  no_file: 'invalid',
  upload_broken: 'invalid',
});

/** How the failures of a route are worded, where not as `{ error, ...details }`. */
export interface FailureDialect {
  /** Of every body that `bodyOf` makes. */
  readonly schema: Readonly<Record<string, unknown>>;
  readonly bodyOf: (told: ToldFailure) => Readonly<Record<string, unknown>>;
}

export interface ToldFailure {
  readonly status: number;
  readonly sentence: string;
  /** The declared fault's; null where nobody declared one. */
  readonly code: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    failures?: FailureDialect;
  }
}

const RETRY_AFTER_DEFAULT_MS = 1000;

export interface Failure extends ToldFailure {
  readonly headers: Readonly<Record<string, string>>;
}

export function failureOf(fault: Fault): Failure {
  const status = STATUS_OF_KIND[fault.kind];
  const asksToRetry = status === 429 || status === 503; // R3
  const retryAfterMs = fault.retryAfterMs ?? RETRY_AFTER_DEFAULT_MS;
  return {
    status,
    headers: asksToRetry ? { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) } : {},
    sentence: fault.message,
    code: fault.code,
    details: fault.details ?? {},
  };
}

/** The answer to anything that was thrown while a request was served. */
export function answerFailure(error: unknown, request: FastifyRequest, reply: FastifyReply, log: Log): void {
  const failure = error instanceof Fault ? failureOf(error) : failureOfFramework(error as FastifyError);
  const isBug = failure === undefined || (error instanceof Fault && error.kind === 'internal');
  if (isBug) log.error({ ...requestNames(request), detail: stackOf(error) }, 'request failed');
  const { failures = plainFailures } = request.routeOptions.config;
  const told = failure ?? internalFailure(request.id);
  reply.code(told.status).headers(told.headers).send(failures.bodyOf(told));
}

export const plainFailures: FailureDialect = {
  schema: {
    type: 'object',
    properties: { error: { type: 'string' } },
    required: ['error'],
    additionalProperties: true,
  },
  bodyOf: ({ sentence, details }) => ({ ...details, error: sentence }),
};

/** R2. */
function internalFailure(request_id: string): Failure {
  return { status: 500, headers: {}, sentence: 'Internal error', code: null, details: { request_id } };
}

function requestNames(request: FastifyRequest): Record<string, unknown> {
  return { request_id: request.id, method: request.method, route: request.routeOptions.url };
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What Fastify refuses before a route sees it; undefined for anything that is not the client's doing. */
function failureOfFramework(error: FastifyError): Failure | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return failureOf(edgeFaults.body_too_large('The request body is too large'));
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return failureOf(
        edgeFaults.content_type_unsupported('Unsupported content type: send application/json'),
      );
    default:
  }
  const status = error.statusCode;
  if (typeof status !== 'number' || status < 400 || status > 499) return undefined;
  return { status, headers: {}, sentence: error.message, code: null, details: {} };
}
