// Acceptance: how runs come in. Checks a request, asks the admission for a place, and writes the record.
// C1 Whether a conversation is busy is decided, and its place taken, in one go: of two that come at once one is the second.
// C2 One flushed write a run; many that come at once share its commit.
// C3 A run that was refused is not there: also not to the next start, which would run what nobody waits for.
// C4 Runs are numbered in the order in which they came, so that the next start takes them up in it.

import { isFault } from '../../std/errors.ts';
import { config, type Settings } from '../config/protocol.ts';
import { CONVERSATION_ID_LENGTH_MAX } from '../conversations/protocol.ts';
import { isSteerInto } from './busy.ts';
import type { Desk } from './desk.ts';
import { NOTHING_SAID, Prelude } from './prelude.ts';
import { type ChatRequest, type RunOrigin, runFaults } from './protocol.ts';
import { steerRun } from './steer-run.ts';
import { lastNumber } from './store.ts';
import { hasContent } from './view.ts';

const RUN_ID_DIGITS = 16;
const FULL_RETRY_AFTER_MS = 1_000;
const FORGET_RETRY_MS = 1_000;

const WAITS_FOR = {
  conversation: 'Waits for the turn before it in this conversation',
  place: 'Waits for a free place',
} as const;

export interface Newcomer {
  readonly request: ChatRequest;
  readonly userId: string;
  readonly origin: RunOrigin;
}

/** The run that answers a request, from the event after `after` on. */
export interface Entered {
  readonly runId: string;
  readonly after: number;
  readonly isJoined: boolean;
}

export interface Acceptance {
  /** Lets a request in as the settings say (`runs.on_busy`). @throws what `start` may answer */
  enter(newcomer: Newcomer): Promise<Entered>;
  /** Lets a request in under an id of its own, once; it waits if it has to. */
  launch(runId: string, newcomer: Newcomer): Promise<void>;
  /** Reads the limits anew. */
  readLimits(): Promise<Settings>;
}

/** `startNext` starts what may begin. */
export function acceptanceOf(desk: Desk, startNext: () => void): Acceptance {
  const { context, store, admission, directory, readers } = desk;
  /** Launches whose records are being written. */
  const launching = new Map<string, Promise<void>>();
  let lastGiven = lastNumber(store); // C4

  const readLimits = async (): Promise<Settings> => {
    const settings = await context.ask(config, 'settings', {});
    admission.limits = { liveMax: settings['runs.live_max'], queueMax: settings['runs.queue_max'] };
    return settings;
  };

  /** R1, C2. Called without an await since the conversation was looked at (C1). */
  const accept = async (runId: string, { request, userId, origin }: Newcomer): Promise<void> => {
    const sessionId = sessionOf(request) ?? context.random.uuid();
    if (!admission.fits(sessionId)) {
      throw runFaults.runs_full('No more runs are taken at the moment', {
        retryAfterMs: FULL_RETRY_AFTER_MS,
      });
    }
    const prelude = new Prelude(runId, store.journals, () => readers.wake(runId), NOTHING_SAID);
    // Before the record is written: whoever asks for the run from now on finds it.
    directory.put({ runId, sessionId, userId, origin, where: { at: 'desk', prelude, isCounted: false } });
    admission.add({ runId, userId, conversation: sessionId });
    const nowMs = context.clock.nowMs();
    const number = Math.max(lastGiven + 1, nowMs);
    lastGiven = number;
    try {
      await context.services.storage.write('flushed', (tx) =>
        tx.put(store.records, runId, {
          run_id: runId,
          user_id: userId,
          session_id: sessionId,
          origin,
          status: 'running',
          request,
          resumes: 0,
          number,
          createdAtMs: nowMs,
          updatedAtMs: nowMs,
        }),
      );
    } catch (error) {
      admission.leave(runId);
      directory.remove(runId);
      forget(runId);
      startNext();
      throw error;
    }
    admission.accepted(runId);
    // Nobody would be there to be answered when it begins.
    if (origin === 'chat' && admission.isClosed) throw runFaults.service_stopped('The service was stopped');
    startNext();
    const waitsFor = admission.waitsFor(runId);
    if (waitsFor !== null) prelude.queued(WAITS_FOR[waitsFor]);
  };

  /** C3. What failed may have been the flush alone, behind a commit that worked: then the record is there. */
  const forget = (runId: string): void => {
    if (!store.records.has(runId)) return;
    const forgotten = context.services.storage.write('committed', (tx) => {
      // It may have been launched again, and may even have ended since.
      const isRefused =
        tx.get(store.records, runId)?.status === 'running' && directory.find(runId) === undefined;
      if (isRefused) tx.remove(store.records, runId);
    });
    context.pipe(
      forgotten,
      () => undefined,
      (error) => {
        if (!isFault(error)) throw error;
        context.log.warn({ run: runId, error: error.message }, 'a run that was refused is not forgotten yet');
        context.after(`forget ${runId}`, FORGET_RETRY_MS, () => forget(runId));
      },
    );
  };

  /** C3. A record alone, of one that was refused, is none. */
  const isLaunched = (runId: string): boolean => {
    const record = store.records.get(runId);
    return record !== undefined && (record.status !== 'running' || directory.find(runId) !== undefined);
  };

  /** Folds the request into the newest turn of its conversation; null when that cannot be. */
  const join = async (runId: string, { request, userId }: Newcomer): Promise<Entered | null> => {
    const run = directory.find(runId);
    const record = store.records.get(runId);
    if (run?.userId !== userId || record === undefined || !isSteerInto(record.request, request)) return null;
    const after = store.journals.lastSeq(runId);
    try {
      await steerRun(desk, run, (request.message ?? '').trim());
      return { runId, after, isJoined: true };
    } catch (error) {
      if (isFault(error, 'run_not_active') || isFault(error, 'steers_full')) return null;
      throw error;
    }
  };

  return {
    readLimits,
    async enter(newcomer) {
      assertAcceptable(newcomer.request);
      const { 'runs.on_busy': onBusy } = await readLimits();
      const sessionId = sessionOf(newcomer.request);
      const before = sessionId === null ? undefined : admission.newestIn(sessionId);
      if (before !== undefined && onBusy === 'reject') {
        throw runFaults.conversation_busy('Another turn of this conversation is under way');
      }
      const joined = before !== undefined && onBusy === 'steer' ? await join(before.runId, newcomer) : null;
      if (joined !== null) return joined;
      const runId = context.random.hex(RUN_ID_DIGITS);
      await accept(runId, newcomer);
      return { runId, after: 0, isJoined: false };
    },
    launch(runId, newcomer) {
      const pending = launching.get(runId);
      if (pending !== undefined) return pending;
      if (isLaunched(runId)) return Promise.resolve();
      assertAcceptable(newcomer.request);
      const launch = readLimits()
        .then(() => accept(runId, newcomer))
        .finally(() => launching.delete(runId));
      launching.set(runId, launch);
      return launch;
    },
  };
}

/** The conversation that a request names. An empty name is none. */
function sessionOf({ session_id }: ChatRequest): string | null {
  return session_id || null;
}

/** The id of a conversation becomes a key: what the store could not file is refused before anything has been promised. */
function assertAcceptable(request: ChatRequest): void {
  if (!hasContent(request)) throw runFaults.message_required('message is required');
  const sessionId = sessionOf(request) ?? '';
  if (sessionId.length <= CONVERSATION_ID_LENGTH_MAX && sessionId.isWellFormed()) return;
  throw runFaults.session_id_invalid(
    `session_id must be well formed and have at most ${CONVERSATION_ID_LENGTH_MAX} characters`,
  );
}
