// Provider failure: every way in which a model call fails, as one of the declared faults.
// F1 A fault's text never holds the provider's key, even when the provider echoes it.
// F2 A failure is retryable only while nothing of the answer was handed out.

import { EgressRefused } from '../../egress/guard.ts';
import { parseTimestamp } from '../../std/clock.ts';
import { type Fault, isFault } from '../../std/errors.ts';
import { type Connection, providerFaults } from './protocol.ts';

const MESSAGE_CHARS_MAX = 500;
/** Shorter values are words that a message may well need. */
const SECRET_CHARS_MIN = 8;
/** A provider that asks for a longer wait is believed no further than this. */
export const RETRY_AFTER_MAX_MS = 60 * 60 * 1000;

/** A response that is no answer: an error status, or something else than a stream. */
export class HttpFailure extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  private readonly parts: Uint8Array[] = [];
  private size = 0;

  constructor(status: number, headers: Readonly<Record<string, string | string[] | undefined>>) {
    super(`status ${status}`);
    this.status = status;
    this.headers = headers;
  }

  append(bytes: Uint8Array, bytesMax: number): void {
    if (this.size >= bytesMax) return;
    this.parts.push(bytes.slice(0, bytesMax - this.size));
    this.size += bytes.length;
  }

  get body(): unknown {
    const text = Buffer.concat(this.parts).toString();
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}

/** The stream ended, or was ended, before the provider had said that the answer was complete. */
export class UnfinishedAnswer extends Error {}

/** The answer was given up although it still went on. */
export class OverdueAnswer extends Error {
  readonly seconds: number;
  constructor(deadlineMs: number) {
    super('overdue');
    this.seconds = Math.round(deadlineMs / 1000);
  }
}

/** A part of the answer that makes no sense; `detail` is ours, never the provider's text. */
export class MalformedAnswer extends Error {}

/** An error that the provider reported inside of its stream. */
export class ReportedError extends Error {
  readonly body: unknown;
  constructor(body: unknown) {
    super('the provider reported an error');
    this.body = body;
  }
}

export interface FailureContext {
  readonly connection: Connection;
  /** Something of the answer was already handed out. */
  readonly begun: boolean;
  readonly nowMs: number;
}

export function faultOf(error: unknown, context: FailureContext): Fault {
  if (isFault(error)) return error;
  const { connection } = context;
  const retryable = !context.begun; // F2
  const who = connection.provider;
  if (error instanceof HttpFailure) {
    if (error.status === 200) {
      const type = String(error.headers['content-type'] ?? 'something else');
      const said = providerMessage(error.body);
      const text = `${who} answered ${type} instead of an event stream${said === null ? '' : `: ${said}`}`;
      return providerFaults.provider_malformed(clean(text, connection));
    }
    const header = (name: string): string | null => textOrNull(error.headers[name]);
    return faultOfStatus(error.status, error.body, header, context);
  }
  if (error instanceof ReportedError) {
    return faultOfStatus(reportedStatus(error.body), error.body, () => null, context);
  }
  if (error instanceof MalformedAnswer) {
    return providerFaults.provider_malformed(`${who} sent an answer that makes no sense: ${error.message}`, {
      retryable,
    });
  }
  if (error instanceof OverdueAnswer) {
    return providerFaults.provider_stalled(`${who} did not end its answer within ${error.seconds} s`, {
      retryable,
    });
  }
  if (error instanceof UnfinishedAnswer) {
    return providerFaults.provider_unreachable(`${who} ended the stream before the answer was complete`, {
      retryable,
    });
  }
  const status = statusOf(error);
  if (status !== null) {
    const { headers, body } = error as { headers?: Headers; body?: unknown; error?: unknown };
    const told = body ?? (error as { error?: unknown }).error;
    return faultOfStatus(status, told, (name) => headers?.get(name) ?? null, context);
  }
  return faultOfConnection(error, context);
}

/** Who asks is refused, and not what is asked. */
const DENIED_STATUSES: ReadonlySet<number> = new Set([401, 402, 403]);

function faultOfStatus(
  status: number,
  body: unknown,
  header: (name: string) => string | null,
  context: FailureContext,
): Fault {
  const { connection } = context;
  const retryable = !context.begun;
  const said = providerMessage(body);
  const text = clean(
    `${connection.provider} answered ${status}${said === null ? '' : `: ${said}`}`,
    connection,
  );
  const retryAfterMs = retryAfter(header, context.nowMs);
  const wait = retryAfterMs === null ? {} : { retryAfterMs };
  // An account without credit answers 429 too, but no wait helps it.
  if (DENIED_STATUSES.has(status) || errorCode(body) === 'insufficient_quota')
    return providerFaults.provider_denied(text);
  if (status === 429) {
    return providerFaults.provider_rate_limited(text, { retryable, ...wait });
  }
  if (status >= 500 || status === 408)
    return providerFaults.provider_unreachable(text, { retryable, ...wait });
  return providerFaults.provider_rejected(text);
}

/** It had answered, or was about to. */
const CUT_CODES: ReadonlySet<string> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);
const SILENCE_CODES: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

function faultOfConnection(error: unknown, context: FailureContext): Fault {
  const { connection } = context;
  const retryable = !context.begun;
  const causes = causesOf(error);
  const refused = causes.find((cause) => cause instanceof EgressRefused);
  if (refused !== undefined) {
    return providerFaults.provider_address_refused(`${connection.provider} is not asked: ${refused.message}`);
  }
  const code = causes
    .map((cause) => textOrNull((cause as { code?: unknown }).code))
    .find((text) => text !== null);
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') {
    return providerFaults.provider_malformed(`${connection.provider} sent an answer larger than is accepted`);
  }
  const isSilent =
    (code != null && SILENCE_CODES.has(code)) ||
    causes.some((cause) => /Timeout/.test((cause as Error).name ?? ''));
  if (isSilent && code !== 'UND_ERR_CONNECT_TIMEOUT') {
    const seconds = connection.timeoutMs / 1000;
    return providerFaults.provider_stalled(`${connection.provider} sent nothing for ${seconds} s`, {
      retryable,
    });
  }
  const why = code ?? textOrNull((causes.at(-1) as Error | undefined)?.message) ?? 'no connection';
  const what = code != null && CUT_CODES.has(code) ? 'closed the connection' : 'is not reachable';
  return providerFaults.provider_unreachable(clean(`${connection.provider} ${what}: ${why}`, connection), {
    retryable,
  });
}

/** Retry-After in seconds or as a date, or `retry-after-ms`; null when the provider does not say. */
export function retryAfter(header: (name: string) => string | null, nowMs: number): number | null {
  const exact = Number(header('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(exact)) return bounded(exact);
  const text = header('retry-after');
  if (text === null || text.trim() === '') return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return bounded(seconds * 1000);
  const atMs = parseTimestamp(text);
  return atMs === null ? null : bounded(atMs - nowMs);
}

function bounded(waitMs: number): number {
  return Math.ceil(Math.min(Math.max(waitMs, 0), RETRY_AFTER_MAX_MS));
}

/** The status of an SDK's error, null when it never got a response. */
function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null;
  const { status } = error as { status?: unknown };
  return typeof status === 'number' ? status : null;
}

/** Providers number the errors inside of a stream like HTTP statuses, or name them. */
function reportedStatus(body: unknown): number {
  const { code, type, status } = memberObject(body, 'error') ?? {};
  for (const value of [code, status])
    if (typeof value === 'number' && value >= 400 && value < 600) return value;
  if (type === 'rate_limit_error' || code === 'rate_limit_exceeded') return 429;
  if (type === 'invalid_request_error' || type === 'authentication_error') return 400;
  return 502;
}

function errorCode(body: unknown): unknown {
  return memberObject(body, 'error')?.code;
}

/** What the provider says in its error body, in the shapes that are known. */
function providerMessage(body: unknown): string | null {
  if (typeof body === 'string') return /^\s*</.test(body) ? null : textOrNull(body.trim());
  const error = memberObject(body, 'error');
  const top = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  return textOrNull(error?.message) ?? textOrNull(top.error) ?? textOrNull(top.message);
}

function memberObject(body: unknown, name: string): Record<string, unknown> | null {
  if (typeof body !== 'object' || body === null) return null;
  const member = (body as Record<string, unknown>)[name];
  return typeof member === 'object' && member !== null ? (member as Record<string, unknown>) : null;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

function causesOf(error: unknown): readonly object[] {
  const causes: object[] = [];
  let next = error;
  // A cycle of causes would be somebody else's bug; it must not hang us.
  while (typeof next === 'object' && next !== null && causes.length < 8) {
    causes.push(next);
    next = (next as { cause?: unknown }).cause;
  }
  return causes;
}

/** F1. Bounded, on one line, without the key or anything that looks like one. */
function clean(text: string, connection: Connection): string {
  const secrets = [connection.apiKey, ...Object.values(connection.headers)].filter(
    (secret) => secret !== null && secret.length >= SECRET_CHARS_MIN,
  ) as string[];
  let masked = text;
  for (const secret of secrets) masked = masked.replaceAll(secret, '***');
  masked = masked.replace(/\b(sk|pk|key|vck)[-_][\w*.…-]{6,}/g, '***').replace(/\s+/g, ' ');
  return masked.length <= MESSAGE_CHARS_MAX ? masked : `${masked.slice(0, MESSAGE_CHARS_MAX)}…`;
}
