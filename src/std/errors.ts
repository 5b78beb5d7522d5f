// Faults: every failure that is not a bug has a declared code, a kind and a sentence.
// E1 A Fault is expected: it answers a caller and never crashes an actor. Anything else that is thrown does.
// E2 A fault crosses threads as plain data (`toWire`, `fromWire`); nothing but these fields survives.
// E3 The kinds are closed, so that the edge can map every kind to a status, totally.
// Declare the codes of a domain beside its messages: `export const runFaults = declareFaults({ run_not_found: 'not_found' })`,
// then `throw runFaults.run_not_found('unknown run')`.

/** What went wrong, in terms that hold on every transport. */
export const FAULT_KINDS = [
  'invalid', // the caller's input is wrong
  'unauthenticated',
  'forbidden',
  'not_found',
  'not_allowed', // the thing exists, the verb does not apply to it
  'conflict',
  'too_large',
  'unsupported',
  'unprocessable', // well formed, but this installation cannot do it
  'locked',
  'rate_limited',
  'unavailable', // try again later
  'timeout',
  'upstream', // something we call failed
  'failed', // it was tried for the caller, and did not come about
  'cancelled',
  'internal',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

export interface FaultOptions {
  /** Extra members of the error body, as the wire format names them. Never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** True when the same request may succeed later without a change. */
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export interface FaultOnWire {
  readonly code: string;
  readonly kind: FaultKind;
  readonly message: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

const RETRYABLE_KINDS: ReadonlySet<FaultKind> = new Set(['rate_limited', 'unavailable', 'timeout']);

export class Fault extends Error {
  readonly code: string;
  readonly kind: FaultKind;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: string, kind: FaultKind, message: string, options: FaultOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.kind = kind;
    this.retryable = options.retryable ?? RETRYABLE_KINDS.has(kind);
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }
}

export function faultToWire(fault: Fault): FaultOnWire {
  return {
    code: fault.code,
    kind: fault.kind,
    message: fault.message,
    retryable: fault.retryable,
    ...(fault.retryAfterMs === undefined ? {} : { retryAfterMs: fault.retryAfterMs }),
    ...(fault.details === undefined ? {} : { details: fault.details }),
  };
}

export function faultFromWire(wire: FaultOnWire): Fault {
  return new Fault(wire.code, wire.kind, wire.message, wire);
}

export type FaultMaker = (message: string, options?: FaultOptions) => Fault;

/**
 * Declares the fault codes of one domain; the result has one maker per code. Without `stack` they do not say where they were
 * made: for faults that are made at one place each, by the thousand when many askers lose an actor.
 */
export function declareFaults<const Codes extends Record<string, FaultKind>>(
  codes: Codes,
  { stack = true }: { readonly stack?: boolean } = {},
): { readonly [Code in keyof Codes]: FaultMaker } {
  const makers: Record<string, FaultMaker> = {};
  for (const [code, kind] of Object.entries(codes)) {
    const make: FaultMaker = (message, options) => new Fault(code, kind, message, options);
    makers[code] = stack ? make : (message, options) => withoutStack(() => make(message, options));
  }
  return makers as { readonly [Code in keyof Codes]: FaultMaker };
}

/** To note down the stack takes longer than all else that there is to a fault. */
function withoutStack(make: () => Fault): Fault {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const fault = make();
  Error.stackTraceLimit = stackTraceLimit;
  return fault;
}

export function isFault(error: unknown, code?: string): error is Fault {
  return error instanceof Fault && (code === undefined || error.code === code);
}

/** The text of anything that was thrown. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
