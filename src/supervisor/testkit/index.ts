// The test kit: for tests of actors, ours and those of hosts that embed the kernel.

export { seededRandom } from '../../std/ids.ts';
export { failing } from './failing.ts';
export { loopTurn, ManualClock, type ManualClockOptions } from './manual-clock.ts';
export { openProbe, Probe, probeProtocol } from './probe.ts';
export { SeededExecutor } from './seeded-executor.ts';
export type { DeliveryDelays } from './simulated-channel.ts';
export type { SimulatedThread } from './simulated-thread.ts';
export {
  FAULTS_NONE,
  type FaultPlan,
  type Simulation,
  type SimulationOptions,
  type SimulationReport,
  simulate,
} from './simulation.ts';
