// ModelDoubleProcess: the model double in a process of its own (see child.ts).

import { serve } from './child.ts';
import { startModelDouble } from './model-double.ts';

const double = await startModelDouble();

const door = {
  baseUrl: (_: null) => double.baseUrl,
  setRate: (perSecond: number) => double.setRate(perSecond),
  finish: (perSecond: number) => double.finish(perSecond),
  tokensSent: (_: null) => double.tokensSent,
};
export type ModelDoubleDoor = typeof door;
serve(door);
