// Runs: the directory actor. Admits, places, follows, lists, steers, cancels and settles runs; runs none itself.
// Promises R1 to R6 stand in protocol.ts. What lives where: bookkeeping in directory.ts, readers in readers.ts, settling of
// lost runs in settlement.ts (decision) and recovery.ts (effect).

import { type Fault, isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { CONVERSATION_ID_LENGTH_MAX } from '../conversations/protocol.ts';
import { providerFaults } from '../providers/protocol.ts';
import { type AgentActivity, agentStatus } from './agent-status.ts';
import { Directory, type LiveRun, type RunHostEntry } from './directory.ts';
import { sweepExpired } from './expiry.ts';
import { Outcomes } from './outcomes.ts';
import {
  type ChatReply,
  type ChatRequest,
  RUNS_LISTED_MAX,
  RUNS_LIVE_MAX,
  type RunError,
  type RunOrder,
  type RunOrigin,
  type RunOutcome,
  runFaults,
  runHost,
  runMessage,
  runs,
  STOP_GRACE_MS,
} from './protocol.ts';
import { Readers } from './readers.ts';
import { type LostEnd, recoverRun, settleRecord, storedOutcome } from './recovery.ts';
import { EphemeralSessions } from './sessions.ts';
import { openRunStore, type RunRecord } from './store.ts';
import { entryOf, hasContent } from './view.ts';

import '../services.ts';

const RUN_ID_DIGITS = 16;
const EXPIRY_INTERVAL_MS = 60_000;
/** A settlement that could not be saved (a full disk, an owner that restarts) is tried again after so long. */
const SETTLE_RETRY_MS = 1_000;
/** A thread that does not take a run for so long is stuck, and has been ended by the kernel before. */
const BEGIN_DEADLINE_MS = 60_000;
/** Recoveries at once: enough to fill a commit, few enough to keep the edge thread responsive. */
const RECOVERIES_AT_ONCE = 64;

export const runsActor = actor({
  module: import.meta.url,
  exportName: 'runsActor',
  protocol: runs,
  setup: async (context: ActorContext<typeof runs>) => {
    const store = openRunStore(context.services.storage);
    const directory = new Directory();
    const readers = new Readers(store);
    const outcomes = new Outcomes();
    const sessions = new EphemeralSessions();
    /** Jobs whose records are being written. */
    const launching = new Map<string, Promise<RunOrder>>();
    let activity: AgentActivity = { status: 'idle', task: null };
    let isDraining = false;
    let onIdle: (() => void) | null = null;

    await recoverAll(context, store);
    const sweep = (): void => {
      context.pipe(sweepExpired(context, store), () => context.after('expiry', EXPIRY_INTERVAL_MS, sweep));
    };
    sweep();

    /** R5: again and again until it is saved; the run counts as live as long. */
    const settle = (runId: string, save: () => Promise<RunOutcome>): void => {
      context.pipe(save(), finish, (error) => {
        if (!isFault(error) || !error.retryable) throw error;
        context.log.warn({ run: runId, error: error.message }, 'a run is not settled yet');
        context.after(`settle ${runId}`, SETTLE_RETRY_MS, () => settle(runId, save));
      });
    };

    const lose = ({ runId }: LiveRun, reason: string): void => {
      const record = store.records.get(runId);
      // Being admitted right now: its admission looks for the host once more.
      if (record === undefined || directory.beginSettling(runId) === undefined) return;
      settle(runId, async () => {
        const status = await recoverRun(context, store, record, { status: 'failed', reason });
        return storedOutcome(store, record, status);
      });
    };

    const finish = (outcome: RunOutcome): void => {
      directory.remove(outcome.run_id);
      readers.wake(outcome.run_id);
      activity = { status: outcome.status === 'done' ? 'complete' : outcome.status, task: null };
      outcomes.settle(outcome);
      if (directory.liveCount === 0) onIdle?.();
    };

    /** Resolves when no run is live, or when the time is up. */
    const idle = (withinMs: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (directory.liveCount === 0) resolve();
      onIdle = resolve;
      context.after('idle', withinMs, resolve);
      return promise;
    };

    /** R1: the record is flushed, and the run is on its way, when this resolves. */
    const admit = async (
      request: ChatRequest,
      userId: string,
      origin: RunOrigin,
      runId = context.random.hex(RUN_ID_DIGITS),
    ): Promise<RunOrder> => {
      if (!hasContent(request)) throw runFaults.message_required('message is required');
      assertSessionId(request.session_id);
      const host = directory.freestHost();
      if (host === undefined || isDraining || directory.liveCount >= RUNS_LIVE_MAX) {
        throw runFaults.runs_full('No more runs are taken at the moment', { retryAfterMs: 1000 });
      }
      const nowMs = context.clock.nowMs();
      const order: RunOrder = {
        run_id: runId,
        user_id: userId,
        session_id: request.session_id || context.random.uuid(),
        request,
        acceptedAtMs: nowMs,
        earlier:
          request.session_id && request.use_memory === false ? sessions.turns(request.session_id, nowMs) : [],
        journaledSeq: 0,
        steers: [],
      };
      const live: LiveRun = {
        runId: order.run_id,
        sessionId: order.session_id,
        userId,
        host: host.address,
      };
      // Before the record is written: whoever asks for the run from now on finds it.
      directory.add(live);
      try {
        await context.services.storage.write('flushed', (tx) =>
          tx.put(store.records, order.run_id, recordOf(order, origin)),
        );
      } catch (error) {
        directory.remove(order.run_id);
        throw error;
      }
      activity = { status: 'executing', task: runMessage(request.message ?? '') };
      begin(live, order, host);
      return order;
    };

    const begin = (live: LiveRun, order: RunOrder, { name, address }: RunHostEntry): void => {
      if (!directory.hasHost(address)) {
        lose(live, lostHost(name));
        return;
      }
      const begun = context.refTo(runHost, address).ask('begin', order, { deadlineMs: BEGIN_DEADLINE_MS });
      context.pipe(
        begun,
        () => undefined,
        (error) => {
          // A host that has ended is watched: its runs are settled when all that lived on it is gone.
          if (!isFault(error, 'actor_terminated')) lose(live, 'The run host did not take the run');
        },
      );
    };

    /** A run of this user, live or not; undefined for somebody else's and for unknown ones. */
    const ownRecord = (runId: string, userId: string): RunRecord | undefined => {
      const record = store.records.get(runId);
      return record?.user_id === userId ? record : undefined;
    };

    return {
      start: async ({ user_id, ...request }) => {
        const { run_id } = await admit(request, user_id, 'stream');
        return { run_id };
      },
      tail: async function* ({ run_id, after, user_id }, { signal }) {
        if (run_id === undefined || run_id === '') throw runFaults.run_id_required('run_id required');
        if (ownRecord(run_id, user_id) === undefined) {
          yield [{ event: 'run_missing', data: JSON.stringify({ run_id, reason: 'unknown' }) }];
          return;
        }
        yield* readers.follow(run_id, after ?? 0, () => directory.find(run_id) !== undefined, signal);
      },
      chat: async ({ user_id, ...request }, { signal }) => {
        const { run_id } = await admit(request, user_id, 'chat');
        return replyOf(await outcomes.wait(run_id, signal));
      },
      list: ({ user_id, limit }) => {
        const bounds = { start: [user_id, Number.MAX_SAFE_INTEGER], end: [user_id], reverse: true } as const;
        const records = store.records.by('byUser', { ...bounds, limit: limit ?? RUNS_LISTED_MAX });
        return { runs: Array.from(records, ({ value }) => entryOf(value)) };
      },
      cancel: async ({ run_id, user_id }) => {
        const record = ownRecord(run_id, user_id);
        if (record === undefined) return { run_id, cancel_requested: false, status: null };
        if (record.status !== 'running') return { run_id, cancel_requested: false, status: record.status };
        const live = directory.find(run_id);
        if (live === undefined) {
          // Nobody runs it: settled here and now.
          const status = await recoverRun(context, store, record, { status: 'cancelled' });
          readers.wake(run_id);
          return { run_id, cancel_requested: true, status };
        }
        context.refTo(runHost, live.host).tell('cancel', { run_id, cause: 'cancelled' });
        return { run_id, cancel_requested: true, status: record.status };
      },
      steer: async ({ run_id, message, user_id }) => {
        const text = message?.trim() ?? '';
        if (text === '') throw runFaults.message_required('message is required');
        const record = store.records.get(run_id);
        if (record === undefined) throw runFaults.run_not_found('Unknown run');
        if (record.user_id !== user_id) throw runFaults.run_not_owned('The run belongs to another user');
        const live = directory.find(run_id);
        if (record.status !== 'running' || live === undefined)
          throw runFaults.run_not_active('The run is not active');
        const steer_id = context.random.hex(RUN_ID_DIGITS);
        await context.refTo(runHost, live.host).ask('steer', { run_id, steer_id, message: text });
        return { run_id, steer_accepted: true };
      },
      agent_status: () => agentStatus(context, activity, directory.sessionCount),
      launch: async ({ run_id, user_id, request, origin }) => {
        if (store.records.has(run_id)) return {};
        const launch = launching.get(run_id) ?? admit(request, user_id, origin, run_id);
        launching.set(run_id, launch);
        await launch.finally(() => launching.delete(run_id));
        return {};
      },
      outcome: ({ run_id, user_id }, { signal }) => {
        const record = ownRecord(run_id, user_id);
        if (record === undefined) throw runFaults.run_not_found('Unknown run');
        return record.status === 'running'
          ? outcomes.wait(run_id, signal)
          : storedOutcome(store, record, record.status);
      },
      host_ready: ({ name, address }) => {
        directory.addHost(name, address);
        context.watch(address, () => {
          for (const live of directory.loseHost(address)) lose(live, lostHost(name));
        });
      },
      host_retiring: ({ address }) => directory.retireHost(address),
      appended: ({ run_id }) => readers.wake(run_id),
      settled: (outcome) => {
        const { run_id, status, reply } = outcome;
        if (directory.beginSettling(run_id) === undefined) return;
        rememberEphemeral(sessions, store.records.get(run_id), reply, context.clock.nowMs());
        settle(run_id, async () => {
          await settleRecord(context, store, run_id, status);
          return outcome;
        });
      },
      drain: async ({ withinMs }) => {
        isDraining = true;
        await idle(withinMs);
        for (const { runId, host } of directory.live()) {
          context.refTo(runHost, host).tell('cancel', { run_id: runId, cause: 'service_stopped' });
        }
        await idle(STOP_GRACE_MS);
        return { liveCount: directory.liveCount };
      },
      run_lost: ({ run_id, message }) => {
        const live = directory.find(run_id);
        if (live !== undefined) lose(live, message);
      },
    };
  },
});

/** R5: what the last process left running. */
async function recoverAll(context: ActorContext, store: ReturnType<typeof openRunStore>): Promise<void> {
  const end: LostEnd = { status: 'failed', reason: 'The service was restarted while the run was under way' };
  const lost = Array.from(
    store.records.by('byStatus', { start: ['running'], end: ['running', Number.MAX_SAFE_INTEGER] }),
    ({ value }) => value,
  );
  for (let from = 0; from < lost.length; from += RECOVERIES_AT_ONCE) {
    const batch = lost.slice(from, from + RECOVERIES_AT_ONCE);
    await Promise.all(batch.map((record) => recoverRun(context, store, record, end)));
  }
  if (lost.length > 0)
    context.log.warn({ runs: lost.length }, 'settled runs that the last process left unfinished');
}

function recordOf(
  { run_id, user_id, session_id, request, acceptedAtMs }: RunOrder,
  origin: RunOrigin,
): RunRecord {
  return {
    run_id,
    user_id,
    session_id,
    origin,
    status: 'running',
    request,
    resumes: 0,
    createdAtMs: acceptedAtMs,
    updatedAtMs: acceptedAtMs,
  };
}

function replyOf({ status, reply, error }: RunOutcome): ChatReply {
  if (reply !== null) return reply;
  if (status === 'cancelled') throw runFaults.run_cancelled('The turn was cancelled');
  throw error === null ? runFaults.run_failed('The turn failed') : failureOf(error);
}

/** What is not the provider's failure keeps its own status. */
function failureOf({ code, message }: RunError): Fault {
  switch (code) {
    case 'model_not_found':
      return providerFaults.model_not_found(message);
    case 'service_stopped':
      return runFaults.service_stopped(message);
    default:
      return runFaults.run_failed(message);
  }
}

/** The id becomes a key: what the store could not file is refused here, before anything has been promised. */
function assertSessionId(sessionId: string | null | undefined): void {
  if (!sessionId || (sessionId.length <= CONVERSATION_ID_LENGTH_MAX && sessionId.isWellFormed())) return;
  throw runFaults.session_id_invalid(
    `session_id must be well formed and have at most ${CONVERSATION_ID_LENGTH_MAX} characters`,
  );
}

function lostHost(name: string): string {
  return `The run host ${name} was lost`;
}

function rememberEphemeral(
  sessions: EphemeralSessions,
  record: RunRecord | undefined,
  reply: ChatReply | null,
  nowMs: number,
): void {
  if (record?.request.use_memory !== false || reply === null) return;
  const user = { role: 'user', content: record.request.message ?? '' } as const;
  sessions.add(record.session_id, [user, { role: 'assistant', content: reply.answer }], nowMs);
}
