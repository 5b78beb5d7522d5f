// The test kit: for tests of actors, ours and those of hosts that embed the kernel.

export { seededRandom } from '../../std/ids.ts';
export { loopTurn, ManualClock, type ManualClockOptions } from './manual-clock.ts';
export { openProbe, Probe, probeProtocol } from './probe.ts';
export { SeededExecutor } from './seeded-executor.ts';
