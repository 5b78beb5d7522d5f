// Run: the actor of one turn, on a run host. It takes cancels and steers while the turn goes on, and reports its end.
// V1 The turn is background work: the mailbox is always free for a cancel.
// V2 A turn that fails on a bug crashes this actor; the directory then settles the run from its journal.
// V3 When this actor is stopped, its turn is left to be resumed if it is between its steps; else it fails with that reason.
// V4 A run has one way to begin: from what its journal and its steps hold already. For most that is nothing.

import { isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import type { completions } from '../providers/protocol.ts';
import type { Announcer } from './announcer.ts';
import type { JournalWriter } from './journal-writer.ts';
import { usageOfTurn } from './ledger.ts';
import type { OfferedTools } from './offered-tools.ts';
import { patiently } from './patience.ts';
import { type RunOrder, run, runFaults, runs, type StopCause } from './protocol.ts';
import { report } from './report.ts';
import { FRESH, resumptionOf } from './resumption.ts';
import { RunJournal } from './run-journal.ts';
import { Steering } from './steering.ts';
import { readSteps, StepLog } from './steps.ts';
import { openRunStore, readEvents } from './store.ts';
import { Transcript } from './transcript.ts';
import { runTurn } from './turn.ts';
import type { TurnScope } from './turn-scope.ts';
import { UsageTotals } from './usage.ts';

import '../services.ts';

const TASK_ID_DIGITS = 8;

export interface RunArguments {
  readonly order: RunOrder;
  /** The model client of this run host, by its name. A ref may be an argument here: the run lives on the same thread. */
  readonly completions: Ref<typeof completions>;
  /** Shared by the runs of this run host, as the model client is. */
  readonly announcer: Announcer;
  readonly journalWriter: JournalWriter;
  readonly offeredTools: OfferedTools;
  /** By run: the host closes those of runs that end otherwise than by themselves. */
  readonly journals: Map<string, RunJournal>;
}

export const runActor = actor({
  module: import.meta.url,
  exportName: 'runActor',
  protocol: run,
  setup: (
    context: ActorContext<typeof run>,
    { order, completions: completionsRef, announcer, journalWriter, offeredTools, journals }: RunArguments,
  ) => {
    const { run_id } = order;
    const cancellation = new AbortController();
    const store = openRunStore(context.services.storage);
    const isNew = order.journaledSeq === 0;
    const steps = isNew ? [] : readSteps(store.steps, run_id);
    const resumption = isNew ? FRESH : resumptionOf(steps, readEvents(store, run_id, steps.at(-1)?.seq ?? 0)); // V4
    const steering = new Steering(
      order.steers,
      resumption.transcript.flatMap(({ steerRows }) => steerRows).length,
    );
    const transcript = new Transcript(order.request, order.acceptedAtMs);
    for (const gain of resumption.transcript) transcript.restore(gain);
    const journal = new RunJournal({
      run: run_id,
      writer: journalWriter,
      publish: (seq) => announcer.appended(run_id, seq),
      onFailed: (error) => context.background(lost(context, run_id, error)),
      journaledSeq: order.journaledSeq,
      signal: context.signal,
    });
    journals.set(run_id, journal);
    const { clock } = context;
    // An interruption counts as part of the turn's time.
    const startedAtMs = resumption.startedAtMs ?? (resumption.hasBegun ? order.acceptedAtMs : clock.nowMs());
    const scope: TurnScope = {
      context,
      order,
      resumption,
      taskId: resumption.started?.taskId ?? context.random.hex(TASK_ID_DIGITS),
      startedAtMs,
      startedMonotonicMs: clock.monotonicMs() - Math.max(0, clock.nowMs() - startedAtMs),
      journal,
      say: journal.say,
      steps: new StepLog(
        run_id,
        { append: (...entries) => patiently(context, () => store.steps.append(...entries)) },
        steps,
      ),
      steering,
      transcript,
      usage: new UsageTotals(resumption.usage),
      completions: completionsRef,
      offeredTools,
      signal: cancellation.signal,
    };
    const turn = runTurn(scope).then(async (outcome) => {
      await journal.flushed();
      if (journal.hasFailed) return; // This actor has crashed on it, and is settled like that (V2).
      const usage = usageOfTurn(scope.usage, clock.monotonicMs() - scope.startedMonotonicMs);
      await report(context, () =>
        outcome === null
          ? context.ask(runs, 'left', { run_id })
          : context.ask(runs, 'settled', { ...outcome, usage }),
      );
      context.stopSelf();
    });
    context.background(turn);
    context.onStop(async () => {
      cancellation.abort('suspended' satisfies StopCause);
      await turn.catch(() => undefined);
      // The directory writes on behind the last event: what is under way comes before it.
      await journal.flushed();
    });

    return {
      cancel: ({ cause }) => cancellation.abort(cause),
      steer: async ({ steer_id, message }) => {
        steering.accept({ id: steer_id, message, atMs: context.clock.nowMs() });
        journal.say('steer', { id: steer_id, message });
        await journal.flushed();
        // Nobody will ever read it: this actor has crashed on that, or has ended.
        if (journal.hasFailed) throw runFaults.run_not_active('The run is not active');
      },
    };
  },
});

/** V2. What refused the journal for good is told as the reason; a bug is told by the crash alone. */
async function lost(context: ActorContext, run_id: string, error: unknown): Promise<never> {
  if (isFault(error)) {
    await report(context, () => context.ask(runs, 'run_lost', { run_id, message: error.message }));
  }
  throw error;
}
