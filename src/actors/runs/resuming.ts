// Resuming: what the directory does with runs that nobody runs any more: those that were between their steps wait again, the
// others end. In portions, so that a lost host with thousands of runs does not hold up the edge thread.
// U1 At boot every run is settled, or waits again in the order of acceptance, before a request is taken.
// U2 What cannot be settled yet (a full disk) counts as live, holds its conversation, and is tried again.

import { isFault } from '../../std/errors.ts';
import type { Desk } from './desk.ts';
import type { LiveRun } from './directory.ts';
import type { Endings } from './endings.ts';
import { NOTHING_SAID, Prelude } from './prelude.ts';
import { ifReadable, type Loss, type TakenUp, takeUp } from './recovery.ts';
import type { Starting } from './starting.ts';
import { type RunRecord, unfinished } from './store.ts';

/** What is taken up at once: it shares commits, and is in memory together. */
interface Portion {
  readonly runsMax: number;
  /** Of messages and journals, roughly. */
  readonly charsMax: number;
}
/** Few enough to keep the thread responsive. */
const LIVE_PORTION: Portion = { runsMax: 64, charsMax: 8_000_000 };
/** Nobody is served yet: the more share a commit the better. */
const BOOT_PORTION: Portion = { runsMax: 1_024, charsMax: 32_000_000 };
const EVENT_CHARS = 200;

export interface Resuming {
  /** U1. Called once, by the setup. */
  recoverAll(): Promise<void>;
  /** `what` befell them: a sentence without its stop. */
  takeUpAll(lost: readonly LiveRun[], what: string): Promise<void>;
}

export function resumingOf(
  desk: Desk,
  endings: Endings,
  { beginAnew }: Starting,
  isResumeAllowed: () => boolean,
): Resuming {
  const { context, store, admission, directory, readers } = desk;

  const journalChars = (runId: string): number =>
    EVENT_CHARS * (ifReadable(context, runId, () => store.journals.lastSeq(runId)) ?? 0);
  const charsOf = ({ run_id, request }: RunRecord): number =>
    (request.message?.length ?? 0) + journalChars(run_id);

  const takeUpOne = (run: LiveRun, loss: Loss): Promise<void> =>
    new Promise((resolve) => endings.takeUp(run, loss, beginAnew, resolve));

  /** A run of the last process gets its place here. */
  const enter = (record: RunRecord, taken: TakenUp & { readonly kind: 'resumed' }): LiveRun => {
    const { run_id: runId, session_id: sessionId, user_id: userId, origin } = record;
    const prelude = new Prelude(runId, store.journals, () => readers.wake(runId), taken.before);
    const run: LiveRun = {
      runId,
      sessionId,
      userId,
      origin,
      where: { at: 'desk', prelude, isCounted: taken.isCounted },
    };
    directory.put(run);
    admission.add({ runId, userId, conversation: sessionId });
    return run;
  };

  return {
    async recoverAll() {
      const loss: Loss = {
        what: 'The service was restarted',
        isResumeAllowed: isResumeAllowed(),
        isMemoryLost: true,
      };
      const counts = { resumed: 0, settled: 0 };
      for (const records of portionsOf(unfinished(store), BOOT_PORTION, charsOf)) {
        const all = await Promise.all(records.map((record) => attempt(desk, record, loss)));
        for (const [i, taken] of all.entries()) {
          const record = records[i] as RunRecord;
          if (taken === null) {
            const run = enter(record, { kind: 'resumed', before: NOTHING_SAID, isCounted: true });
            endings.takeUp(run, loss, beginAnew, () => undefined); // U2
          } else if (taken.kind === 'resumed') {
            admission.accepted(enter(record, taken).runId);
            counts.resumed += 1;
          } else counts.settled += 1;
        }
      }
      if (counts.resumed + counts.settled > 0) {
        context.log.warn(counts, 'took up the runs that the last process left unfinished');
      }
    },
    async takeUpAll(lost, what) {
      const loss: Loss = { what, isResumeAllowed: isResumeAllowed(), isMemoryLost: false };
      for (const portion of portionsOf(lost, LIVE_PORTION, ({ runId }) => journalChars(runId))) {
        await Promise.all(portion.map((run) => takeUpOne(run, loss)));
      }
    },
  };
}

/** Null when it has to be tried again. */
async function attempt({ context, store }: Desk, record: RunRecord, loss: Loss): Promise<TakenUp | null> {
  try {
    return await takeUp(context, store, record, loss);
  } catch (error) {
    if (!isFault(error) || !error.retryable) throw error;
    context.log.warn({ run: record.run_id, error: error.message }, 'a run could not be taken up yet');
    return null;
  }
}

function* portionsOf<T>(
  all: Iterable<T>,
  { runsMax, charsMax }: Portion,
  charsOf: (one: T) => number,
): Iterable<readonly T[]> {
  let portion: T[] = [];
  let chars = 0;
  for (const one of all) {
    portion.push(one);
    chars += charsOf(one);
    if (portion.length < runsMax && chars < charsMax) continue;
    yield portion;
    portion = [];
    chars = 0;
  }
  if (portion.length > 0) yield portion;
}
