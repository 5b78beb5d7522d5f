// Runs: the directory actor. Admits, places, follows, lists, steers, cancels and settles runs; runs none itself.
// Promises R1 to R6 stand in protocol.ts. What lives where: bookkeeping in directory.ts, readers in readers.ts, settling of
// lost runs in settlement.ts (decision) and recovery.ts (effect).

import { actor, type ActorContext } from '../../supervisor/actor.ts';
import { agentStatus, type AgentActivity } from './agent-status.ts';
import { Directory, type LiveRun } from './directory.ts';
import { sweepExpired } from './expiry.ts';
import {
  type ChatReply,
  type ChatRequest,
  RUNS_LISTED_MAX,
  RUNS_LIVE_MAX,
  type RunOrder,
  type RunOutcome,
  runFaults,
  runHost,
  runMessage,
  runs,
} from './protocol.ts';
import { Readers } from './readers.ts';
import { type LostEnd, recoverRun, settleRecord } from './recovery.ts';
import { EphemeralSessions } from './sessions.ts';
import { openRunStore, type RunRecord } from './store.ts';
import { entryOf, hasContent } from './view.ts';

import '../services.ts';

const RUN_ID_DIGITS = 16;
const EXPIRY_INTERVAL_MS = 60_000;
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
    const sessions = new EphemeralSessions();
    let activity: AgentActivity = { status: 'idle', task: null };
    let isDraining = false;
    let onDrained: (() => void) | null = null;

    await recoverAll(context, store);
    context.every('expiry', EXPIRY_INTERVAL_MS, () => context.background(sweepExpired(context, store)));

    const lose = (live: LiveRun, end: LostEnd): void => {
      const record = store.records.get(live.runId);
      if (record === undefined) return;
      context.pipe(recoverRun(context, store, record, end), (status) => {
        const error = end.status === 'failed' ? end.reason : null;
        finish({ run_id: live.runId, status, reply: null, error });
      });
    };

    const finish = (outcome: RunOutcome): void => {
      const live = directory.remove(outcome.run_id);
      readers.wake(outcome.run_id);
      activity = { status: outcome.status === 'done' ? 'complete' : outcome.status, task: null };
      live?.onSettled?.(outcome);
      if (directory.liveCount === 0) onDrained?.();
    };

    /** R1: the record is flushed, and the run is on its way, when this resolves. */
    const admit = async (
      request: ChatRequest,
      userId: string,
      isDetached: boolean,
      onSettled: LiveRun['onSettled'],
    ): Promise<RunOrder> => {
      if (!hasContent(request)) throw runFaults.message_required('message is required');
      const host = directory.freestHost();
      if (host === undefined || isDraining || directory.liveCount >= RUNS_LIVE_MAX) {
        throw runFaults.runs_full('No more runs are taken at the moment', { retryAfterMs: 1000 });
      }
      const nowMs = context.clock.nowMs();
      const order: RunOrder = {
        run_id: context.random.hex(RUN_ID_DIGITS),
        user_id: userId,
        session_id: request.session_id || context.random.uuid(),
        request,
        acceptedAtMs: nowMs,
        earlier: request.session_id && request.use_memory === false ? sessions.turns(request.session_id, nowMs) : [],
      };
      // Before the record is written: whoever asks for the run from now on finds it, and its host's loss settles it.
      directory.add({
        runId: order.run_id,
        sessionId: order.session_id,
        userId,
        host: host.address,
        onSettled,
      });
      try {
        await context.services.storage.write('flushed', (tx) => tx.put(store.records, order.run_id, recordOf(order, isDetached)));
      } catch (error) {
        directory.remove(order.run_id);
        throw error;
      }
      activity = { status: 'executing', task: runMessage(request.message ?? '') };
      context.refTo(runHost, host.address).tell('begin', order);
      return order;
    };

    /** A run of this user, live or not; undefined for somebody else's and for unknown ones. */
    const ownRecord = (runId: string, userId: string): RunRecord | undefined => {
      const record = store.records.get(runId);
      return record?.user_id === userId ? record : undefined;
    };

    return {
      start: async ({ user_id, ...request }) => {
        const { run_id } = await admit(request, user_id, true, null);
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
      chat: async ({ user_id, ...request }) => {
        const settled = Promise.withResolvers<RunOutcome>();
        await admit(request, user_id, false, settled.resolve);
        return replyOf(await settled.promise);
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
        context.refTo(runHost, live.host).tell('cancel', { run_id });
        return { run_id, cancel_requested: true, status: record.status };
      },
      steer: async ({ run_id, message, user_id }) => {
        const text = message?.trim() ?? '';
        if (text === '') throw runFaults.message_required('message is required');
        const record = store.records.get(run_id);
        if (record === undefined) throw runFaults.run_not_found('Unknown run');
        if (record.user_id !== user_id) throw runFaults.run_not_owned('The run belongs to another user');
        const live = directory.find(run_id);
        if (record.status !== 'running' || live === undefined) throw runFaults.run_not_active('The run is not active');
        const steer_id = context.random.hex(RUN_ID_DIGITS);
        await context.refTo(runHost, live.host).ask('steer', { run_id, steer_id, message: text });
        return { run_id, steer_accepted: true };
      },
      agent_status: () => agentStatus(context, activity, directory.sessionCount),
      host_ready: ({ name, address }) => {
        directory.addHost(name, address);
        context.watch(address, () => {
          const reason = `The run host ${name} was lost`;
          for (const live of directory.loseHost(address)) lose(live, { status: 'failed', reason });
        });
      },
      appended: ({ run_id }) => readers.wake(run_id),
      settled: (outcome) => {
        const live = directory.find(outcome.run_id);
        if (live === undefined) return;
        rememberEphemeral(sessions, store.records.get(outcome.run_id), outcome.reply, context.clock.nowMs());
        context.pipe(settleRecord(context, store, outcome.run_id, outcome.status), () => finish(outcome));
      },
      drain: ({ withinMs }) => {
        isDraining = true;
        const drained = Promise.withResolvers<void>();
        onDrained = drained.resolve;
        if (directory.liveCount === 0) drained.resolve();
        context.after('drain', withinMs, drained.resolve);
        return drained.promise.then(() => ({ liveCount: directory.liveCount }));
      },
      run_lost: ({ run_id, message }) => {
        const live = directory.find(run_id);
        if (live !== undefined) lose(live, { status: 'failed', reason: message });
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
  if (lost.length > 0) context.log.warn({ runs: lost.length }, 'settled runs that the last process left unfinished');
}

function recordOf({ run_id, user_id, session_id, request, acceptedAtMs }: RunOrder, isDetached: boolean): RunRecord {
  return {
    run_id,
    user_id,
    session_id,
    isDetached,
    status: 'running',
    request,
    createdAtMs: acceptedAtMs,
    updatedAtMs: acceptedAtMs,
  };
}

function replyOf({ status, reply, error }: RunOutcome): ChatReply {
  if (reply !== null) return reply;
  if (status === 'cancelled') throw runFaults.run_cancelled('The turn was cancelled');
  throw runFaults.run_failed(error ?? 'The turn failed');
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
