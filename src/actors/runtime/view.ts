// View: the kernel's reports as the API shows them.
// V1 A failure is one short line, and what looks like a secret is masked: by the names that the log masks, and by the shape
//    of keys and of credentials in URLs.

import { isoTimestamp } from '../../std/clock.ts';
import { SECRET_MEMBERS } from '../../std/log.ts';
import type {
  ActorReport,
  DeadLetterReport,
  SystemSnapshot,
  ThreadReport,
} from '../../supervisor/introspection/contract.ts';
import type { ActorRow, DeadLetterRow, RuntimeSnapshot, ThreadRow } from './protocol.ts';

const BYTES_PER_MB = 1024 * 1024;
const FAILURE_LINE_CHARS_MAX = 200;

export function snapshotView({
  atMs,
  totals,
  threads,
  actors,
  actorsOmitted,
}: SystemSnapshot): RuntimeSnapshot {
  const { deadLettered, ...others } = totals;
  return {
    at: isoTimestamp(atMs),
    totals: { ...others, dead_lettered: deadLettered },
    threads: threads.map(threadRow),
    tree: actors.map(actorRow),
    omitted: actorsOmitted,
  };
}

export function threadRow(report: ThreadReport): ThreadRow {
  const { thread, name, state, actors, queued, heapUsedBytes, loopLagMs } = report;
  return {
    thread,
    name,
    state,
    actors,
    queued,
    heap_mb: heapUsedBytes === null ? null : rounded(heapUsedBytes / BYTES_PER_MB),
    loop_lag_ms: loopLagMs === null ? null : rounded(loopLagMs),
  };
}

export function deadLetterRow({ atMs, thread, target, message, refusal }: DeadLetterReport): DeadLetterRow {
  return { at: isoTimestamp(atMs), thread, target, message, reason: refusal };
}

function actorRow(report: ActorReport): ActorRow {
  const { path, thread, state, mailboxLength, handled, restarts, lastFailure, ageMs } = report;
  return {
    path,
    thread,
    state,
    mailbox: mailboxLength,
    handled,
    restarts,
    last_failure: lastFailure === null ? null : failureLine(lastFailure),
    age_ms: ageMs,
  };
}

const NAMED_SECRET = new RegExp(
  `((?:${SECRET_MEMBERS.join('|')}|key)["']?\\s*[:=]\\s*)(?:bearer\\s+|basic\\s+)?("[^"]*"|'[^']*'|[^\\s,;&}]+)`,
  'gi',
);
const BEARER = /\b(bearer|basic)\s+[\w.~+/=-]+/gi;
const KEY = /\b(?:sk|pk|key|vck|xox[a-z]|gh[a-z])[-_][\w*.…-]{6,}/g;
const URL_CREDENTIALS = /(\w:\/\/)[^\s/@]+@/g;

/** V1. */
export function failureLine(failure: string): string {
  const line = failure
    .replace(URL_CREDENTIALS, '$1***@')
    .replace(NAMED_SECRET, '$1***')
    .replace(BEARER, '$1 ***')
    .replace(KEY, '***')
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= FAILURE_LINE_CHARS_MAX ? line : `${line.slice(0, FAILURE_LINE_CHARS_MAX)}…`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
