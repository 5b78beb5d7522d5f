// Idle: how soon a service that has nothing else to do accepts a turn and says its first event.

import { type Figure, figure } from '../report.ts';
import type { Stage } from './stage.ts';

const WARM_UP = { runs: 300, perSecond: 100, wish: { tokens: 20, perSecond: 100 } };
/** Few enough a second that each is alone. */
const PROBES = { runs: 300, perSecond: 20, wish: { tokens: 2, perSecond: 200 } };

export async function measureIdle({ crowd, service }: Stage): Promise<readonly Figure[]> {
  await crowd.ask('probe', WARM_UP);
  const { accept, firstEvent } = await crowd.ask('probe', PROBES);
  return [
    figure('accept, idle, p50', 'ms', [accept.p50]),
    figure('accept, idle, p99', 'ms', [accept.p99]),
    figure('accept to first event, idle, p50', 'ms', [firstEvent.p50], { target: 3 }),
    figure('accept to first event, idle, p99', 'ms', [firstEvent.p99], { target: 15 }),
    figure(`resident memory, idle after ${WARM_UP.runs + PROBES.runs} runs`, 'MB', [
      await service.residentMb(),
    ]),
  ];
}
