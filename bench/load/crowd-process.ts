// CrowdProcess: the crowd in a process of its own (see child.ts).

import { serve } from './child.ts';
import { Crowd } from './crowd.ts';
import type { Wish } from './model-double.ts';

let crowd: Crowd | null = null;

function entered(): Crowd {
  if (crowd === null) throw new Error('the crowd does not know yet where to go');
  return crowd;
}

const door = {
  enter({ url, model }: { readonly url: string; readonly model: string }) {
    crowd = new Crowd({ url: new URL(url), model });
  },
  begin: (ask: { readonly runs: number; readonly readers: number; readonly perSecond: number }) =>
    entered().begin(ask.runs, ask.readers, ask.perSecond),
  lag: (_: null) => entered().lag(),
  probe: (ask: { readonly runs: number; readonly perSecond: number; readonly wish: Wish }) =>
    entered().probe(ask.runs, ask.perSecond, ask.wish),
  finished: (wish: Wish) => entered().finished(wish),
  replay: (ask: { readonly runId: string; readonly times: number; readonly perSecond: number }) =>
    entered().replay(ask.runId, ask.times, ask.perSecond),
  settle: (_: null) => entered().settle(),
};
export type CrowdDoor = typeof door;
serve(door);
