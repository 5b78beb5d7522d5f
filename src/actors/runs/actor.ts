// Runs: the directory actor. Lets runs in, starts, follows, lists, steers, cancels and settles them; runs none itself.
// Promises R1 to R6 stand in protocol.ts. What lives where: who may begin in admission.ts, the ways in, on and out in
// acceptance.ts, starting.ts, cancelling.ts and endings.ts; what becomes of lost runs is decided in resumption.ts and
// settlement.ts, and done by recovery.ts and resuming.ts.

import type { Fault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { follow } from '../../supervisor/following.ts';
import { config } from '../config/protocol.ts';
import { providerFaults } from '../providers/protocol.ts';
import { usageFaults } from '../usage/protocol.ts';
import { acceptanceOf, type Newcomer } from './acceptance.ts';
import { Admission } from './admission.ts';
import { type AgentActivity, agentStatus } from './agent-status.ts';
import { cancellingOf } from './cancelling.ts';
import type { Desk } from './desk.ts';
import { Directory } from './directory.ts';
import { endingsOf } from './endings.ts';
import { sweepExpired } from './expiry.ts';
import { Outcomes } from './outcomes.ts';
import {
  type ChatReply,
  RUNS_LISTED_MAX,
  type RunError,
  type RunFrame,
  type RunOutcome,
  runFaults,
  runMessage,
  runs,
  STOP_GRACE_MS,
} from './protocol.ts';
import { Readers } from './readers.ts';
import { type LostEnd, settleRun, storedOutcome } from './recovery.ts';
import { resumingOf } from './resuming.ts';
import { EphemeralSessions } from './sessions.ts';
import { startingOf } from './starting.ts';
import { steerRun } from './steer-run.ts';
import { openRunStore, type RunRecord } from './store.ts';
import { entryOf } from './view.ts';

import '../services.ts';

const EXPIRY_INTERVAL_MS = 60_000;
/** Nobody begins before the limits are read. */
const LIMITS_UNKNOWN = { liveMax: 0, queueMax: 0 };

export const runsActor = actor({
  module: import.meta.url,
  exportName: 'runsActor',
  protocol: runs,
  setup: async (context: ActorContext<typeof runs>) => {
    const store = openRunStore(context.services.storage);
    const desk: Desk = {
      context,
      store,
      admission: new Admission(LIMITS_UNKNOWN),
      directory: new Directory(),
      readers: new Readers(store),
      outcomes: new Outcomes(),
      sessions: new EphemeralSessions(),
    };
    const { admission, directory, readers, outcomes } = desk;
    context.exposeState(() => ({ live: admission.liveCount, waiting: admission.waitingCount }));
    let activity: AgentActivity = { status: 'idle', task: null };
    let onIdle: (() => void) | null = null;

    const isIdle = (): boolean => admission.liveCount === 0 && directory.settlingCount === 0;
    const noteIdle = (): void => {
      if (isIdle()) onIdle?.();
    };
    const endings = endingsOf(desk, (outcome) => {
      if (outcome !== null) activity = activityAfter(outcome);
      startNext();
      noteIdle();
    });
    const starting = startingOf(desk, endings.lose, noteIdle);
    const { startNext } = starting;
    const acceptance = acceptanceOf(desk, startNext);
    const cancelling = cancellingOf(desk, endings);

    const sweep = (): void => {
      context.pipe(sweepExpired(context, store), () => context.after('expiry', EXPIRY_INTERVAL_MS, sweep));
    };
    sweep();
    let isResumeAllowed = (await acceptance.readLimits())['runs.resume_on_boot'];
    const resuming = resumingOf(desk, endings, starting, () => isResumeAllowed);
    await resuming.recoverAll();
    /** A higher limit is felt at once, by those that wait already. */
    const readLimits = async (): Promise<void> => {
      isResumeAllowed = (await acceptance.readLimits())['runs.resume_on_boot'];
      startNext();
    };
    follow(
      context,
      config,
      'changes',
      {},
      {
        onBegun: readLimits,
        onItem: (keys) => keys.some((key) => key.startsWith('runs.')) && readLimits(),
      },
    );

    const enter = async (newcomer: Newcomer) => {
      const entered = await acceptance.enter(newcomer);
      activity = { status: 'executing', task: runMessage(newcomer.request.message ?? '') };
      return entered;
    };

    /** Resolves when no run is live, or when the time is up. */
    const idle = (withinMs: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (isIdle()) resolve();
      onIdle = resolve;
      context.after('idle', withinMs, resolve);
      return promise;
    };

    /** A run of this user, live or not; undefined for somebody else's and for unknown ones. */
    const ownRecord = (runId: string, userId: string): RunRecord | undefined => {
      const record = store.records.get(runId);
      return record?.user_id === userId ? record : undefined;
    };

    const outcomeOf = (
      runId: string,
      userId: string,
      signal: AbortSignal,
    ): RunOutcome | Promise<RunOutcome> => {
      const record = ownRecord(runId, userId);
      if (record === undefined) throw runFaults.run_not_found('Unknown run');
      return record.status === 'running'
        ? outcomes.wait(runId, signal)
        : storedOutcome(store, record, record.status);
    };

    return {
      start: async ({ user_id, ...request }) => {
        const { runId, after, isJoined } = await enter({ request, userId: user_id, origin: 'stream' });
        return { run_id: runId, after, is_joined: isJoined };
      },
      tail: ({ run_id, after, user_id }) => {
        if (run_id === undefined || run_id === '') throw runFaults.run_id_required('run_id required');
        if (ownRecord(run_id, user_id) === undefined) return runMissing(run_id);
        return readers.follow(run_id, after ?? 0, () => directory.find(run_id) !== undefined);
      },
      chat: async ({ user_id, ...request }, { signal }) => {
        const { runId } = await enter({ request, userId: user_id, origin: 'chat' });
        return replyOf(await outcomeOf(runId, user_id, signal));
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
        const run = directory.find(run_id);
        if (run === undefined) {
          // Nobody runs it: settled here and now.
          const { status } = await settleRun(context, store, record, { status: 'cancelled' });
          readers.wake(run_id);
          return { run_id, cancel_requested: true, status };
        }
        await cancelling.cancel(run_id);
        return { run_id, cancel_requested: true, status: record.status };
      },
      steer: async ({ run_id, message, user_id }) => {
        const text = message?.trim() ?? '';
        if (text === '') throw runFaults.message_required('message is required');
        const record = store.records.get(run_id);
        if (record === undefined) throw runFaults.run_not_found('Unknown run');
        if (record.user_id !== user_id) throw runFaults.run_not_owned('The run belongs to another user');
        const run = directory.find(run_id);
        if (record.status !== 'running' || run === undefined)
          throw runFaults.run_not_active('The run is not active');
        await steerRun(desk, run, text);
        return { run_id, steer_accepted: true };
      },
      agent_status: () => agentStatus(context, activity, admission.conversationCount),
      launch: async ({ run_id, user_id, request, origin }) => {
        await acceptance.launch(run_id, { request, userId: user_id, origin });
        return {};
      },
      outcome: ({ run_id, user_id }, { signal }) => outcomeOf(run_id, user_id, signal),
      host_ready: ({ name, address }) => {
        // A host says it again when it was not answered in time, though it was heard.
        if (!directory.addHost(name, address)) return;
        context.watch(address, () => {
          context.background(
            resuming.takeUpAll(directory.loseHost(address), `The run host ${name} was lost`),
          );
        });
        startNext();
      },
      host_retiring: ({ address }) => directory.retireHost(address),
      appended: ({ lastSeqs }) => {
        for (const [runId, lastSeq] of lastSeqs) readers.wake(runId, lastSeq);
      },
      settled: endings.settled,
      left: ({ run_id }) => {
        const run = directory.find(run_id);
        if (run === undefined) return;
        if (admission.isClosed) endings.leave(run);
        else context.background(resuming.takeUpAll([run], 'The run was stopped'));
      },
      drain: async ({ withinMs }) => {
        admission.close();
        for (const run of directory.all()) {
          // Whoever waits for it is told now; other runs that wait are left to the next start.
          const isAccepted = run.origin === 'chat' && store.records.has(run.runId);
          if (isAccepted) endings.endUnbegun(run, STOPPED, STOPPED_ERROR);
        }
        await idle(withinMs);
        for (const { runId, origin } of directory.all()) {
          cancelling.tellHost(runId, isResumeAllowed && origin !== 'chat' ? 'suspended' : 'service_stopped');
        }
        await idle(STOP_GRACE_MS);
        // Of runs that wait on, or go on after the next start.
        outcomes.refuse(runFaults.service_stopped('The service was stopped'));
        return { liveCount: admission.liveCount };
      },
      run_lost: ({ run_id, message }) => {
        const run = directory.find(run_id);
        if (run !== undefined) endings.lose(run, message);
      },
    };
  },
});

const STOPPED: LostEnd = { status: 'failed', reason: 'The service was stopped' };
const STOPPED_ERROR: RunError = { code: 'service_stopped', message: 'The service was stopped' };

function activityAfter({ status }: RunOutcome): AgentActivity {
  return { status: status === 'done' ? 'complete' : status, task: null };
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
    case 'budget_exceeded':
      return usageFaults.budget_exceeded(message);
    case 'service_stopped':
      return runFaults.service_stopped(message);
    default:
      return runFaults.run_failed(message);
  }
}

async function* runMissing(run_id: string): AsyncGenerator<readonly RunFrame[]> {
  yield [{ event: 'run_missing', data: JSON.stringify({ run_id, reason: 'unknown' }) }];
}
