// RunProgress: what a run says, in words for somebody who waits: its statuses, its tool calls, how much it has written.
// P1 The journal is followed as any reader would; whoever reports it slows no run, and misses none of its words.
// P2 After PROGRESS_INTERVAL_MS without news the last words are said again.

import { isFault } from '../../std/errors.ts';
import { type RunFrame, runs } from '../runs/protocol.ts';
import type { OutwardContext } from './outward-tool.ts';
import { PROGRESS_INTERVAL_MS } from './protocol.ts';

/** How much more must be written to be news. */
const WRITTEN_STEP = 500;

/** Resolves when the run is over, or the signal aborted. */
export async function reportProgress(
  { progress, stream, clock, userId }: OutwardContext,
  { run_id, after }: { readonly run_id: string; readonly after: number },
  signal: AbortSignal,
): Promise<void> {
  const words = new RunWords(run_id);
  const say = (): void => {
    progress?.(words.last);
    timer.cancel();
    timer = clock.startTimer(PROGRESS_INTERVAL_MS, say); // P2
  };
  let timer = clock.startTimer(PROGRESS_INTERVAL_MS, say);
  try {
    say();
    for await (const frames of stream(runs, 'tail', { run_id, after, user_id: userId }, { signal })) {
      if (words.take(frames)) say();
    }
  } catch (error) {
    // What the run ends with is told by its outcome; that nobody follows it any more is no news.
    if (!isFault(error) && !signal.aborted) throw error;
  } finally {
    timer.cancel();
  }
}

/** The last words of a run. Pure. */
export class RunWords {
  #last: string;
  #written = 0;
  #toldWritten = 0;

  constructor(runId: string) {
    this.#last = `Run ${runId} was accepted`;
  }

  get last(): string {
    return this.#last;
  }

  /** True when there is something new to say. */
  take(frames: readonly RunFrame[]): boolean {
    const before = this.#last;
    for (const frame of frames) this.#take(frame);
    return this.#last !== before;
  }

  #take({ event, data }: RunFrame): void {
    switch (event) {
      case 'status': {
        const { label, detail } = JSON.parse(data) as { readonly label: string; readonly detail?: string };
        this.#last = detail === undefined ? label : `${label} ${detail}`;
        return;
      }
      case 'tool_call':
        this.#last = `Calls ${(JSON.parse(data) as { readonly tool: string }).tool}`;
        return;
      case 'chunk':
        this.#written += (JSON.parse(data) as { readonly content: string }).content.length;
        if (this.#toldWritten > 0 && this.#written - this.#toldWritten < WRITTEN_STEP) return;
        this.#toldWritten = this.#written;
        this.#last = `Writes its answer: ${this.#written} characters so far`;
        return;
      default:
    }
  }
}
