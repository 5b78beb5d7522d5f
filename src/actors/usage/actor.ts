// Usage actor: one on the edge thread, the only writer of the ledger. Promises L1 to L5 stand in protocol.ts.

import { isFault } from '../../std/errors.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { config } from '../config/protocol.ts';
import { dayOf } from './day.ts';
import { USAGE_DAYS_MAX, usage, usageFaults } from './protocol.ts';
import { reportOf, windowOf } from './report.ts';
import { type Budgets, Spending } from './spending.ts';
import { openUsageStore } from './store.ts';

import '../services.ts';

/**
 * The first one comes so long after the start too: by then whatever a crash has left is entered again, and the marks that tell
 * of it were still there, however long the service was down.
 */
const SWEEP_INTERVAL_MS = 3600 * 1000;
/** Keeps a write short; the next one follows. */
const SWEEP_ROWS_MAX = 1_000;
const SWEEP_PAUSE_MS = 1_000;

export const usageActor = actor({
  module: import.meta.url,
  exportName: 'usageActor',
  protocol: usage,
  setup(context: ActorContext<typeof usage>) {
    const { clock } = context;
    const store = openUsageStore(context.services.storage);
    const spending = new Spending();
    const today = (): number => dayOf(clock.nowMs());

    const sweep = (): void => {
      context.pipe(
        store.sweep(today(), SWEEP_ROWS_MAX),
        (hasMore) => sweepIn(hasMore ? SWEEP_PAUSE_MS : SWEEP_INTERVAL_MS),
        (error) => {
          if (!isFault(error)) throw error;
          context.log.warn({ error: error.message }, 'old usage could not be removed yet');
          sweepIn(SWEEP_INTERVAL_MS);
        },
      );
    };
    const sweepIn = (delayMs: number): void => void context.after('sweep', delayMs, sweep);
    sweepIn(SWEEP_INTERVAL_MS);

    /** Day by day, so that the first report does not hold up this thread with all of them. */
    const readAhead = (day: number): void => {
      if (day <= today() - USAGE_DAYS_MAX) return;
      try {
        store.usageOn(day, today());
      } catch (error) {
        if (!isFault(error)) throw error;
        return; // The report will say so.
      }
      context.after('read ahead', 0, () => readAhead(day - 1));
    };
    context.after('read ahead', 0, () => readAhead(today() - 1));

    const budgetsNow = async (): Promise<Budgets> => {
      const settings = await context.ask(config, 'settings', {});
      return { dailyUsd: settings['budgets.daily_usd'], perRunUsd: settings['budgets.per_run_usd'] };
    };

    return {
      report({ days }) {
        const now = today();
        const window = windowOf(days, now);
        try {
          return reportOf(window, (day) => store.usageOn(day, now));
        } catch (error) {
          if (!isFault(error)) throw error;
          context.log.warn({ error: error.message }, 'the usage ledger cannot be read');
          return { ...reportOf(window, () => null), unavailable: true };
        }
      },
      async record(entry) {
        await store.enter(entry, today());
        spending.close(entry);
      },
      discard: (turn) => spending.close(turn),
      async admit(next, { signal }) {
        const budgets = await budgetsNow();
        // Whoever asked is gone, and may have given up what it would reserve now.
        if (signal.aborted) return;
        if (budgets.dailyUsd === null && budgets.perRunUsd === null) return;
        const refusal = spending.admit(budgets, store.costOn(today()), next);
        if (refusal !== null) throw usageFaults.budget_exceeded(refusal);
      },
    };
  },
});
