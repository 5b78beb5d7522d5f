// Plays a timed list of steps on one HTTP response. Time is counted from the request, so that a hundred chunks five
// milliseconds apart take half a second however late single timers are; what is due together goes out in one write.

import type { ServerResponse } from 'node:http';

export type Step =
  | { readonly kind: 'send'; readonly atMs: number; readonly frame: string }
  | { readonly kind: 'cut'; readonly atMs: number }
  | { readonly kind: 'stall'; readonly atMs: number };

export interface Playing {
  readonly response: ServerResponse;
  readonly steps: readonly Step[];
  /** Pieces of so many bytes, each in a write of its own; whole frames when null. */
  readonly cutEveryBytes: number | null;
  /** Resolves when a stall is lifted. */
  readonly released: () => Promise<void>;
  /** The response's own connection was destroyed by the script. */
  readonly onCut: () => void;
}

export function play(playing: Playing): void {
  const { response, steps } = playing;
  let startedAtMs = performance.now();
  let next = 0;
  let timer: NodeJS.Timeout | undefined;
  response.once('close', () => clearTimeout(timer));

  const advance = (): void => {
    const nowMs = performance.now() - startedAtMs;
    let due = '';
    while (next < steps.length) {
      const step = steps[next] as Step;
      if (step.atMs > nowMs) break;
      next += 1;
      if (step.kind === 'send') {
        due += step.frame;
        continue;
      }
      write(playing, due);
      if (step.kind === 'cut') {
        playing.onCut();
        // The frames before the cut are to arrive: a destroyed socket throws away what it has not sent yet.
        setImmediate(() => response.destroy());
        return;
      }
      const stalledAtMs = performance.now();
      void playing.released().then(() => {
        if (response.destroyed) return;
        startedAtMs += performance.now() - stalledAtMs;
        advance();
      });
      return;
    }
    write(playing, due);
    const upcoming = steps[next];
    if (upcoming === undefined) response.end();
    else timer = setTimeout(advance, Math.max(upcoming.atMs - (performance.now() - startedAtMs), 0));
  };
  advance();
}

function write(playing: Playing, text: string): void {
  if (text === '' || playing.response.destroyed) return;
  if (playing.cutEveryBytes === null) {
    playing.response.write(text);
    return;
  }
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += playing.cutEveryBytes) {
    playing.response.write(bytes.subarray(at, at + playing.cutEveryBytes));
  }
}
