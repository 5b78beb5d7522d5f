// The actor kernel as a library: `import { createActorSystem } from 'troupe/actors'`.

export type { Clock, Timer } from '../std/clock.ts';
export {
  declareFaults,
  Fault,
  type FaultKind,
  type FaultMaker,
  type FaultOptions,
  isFault,
} from '../std/errors.ts';
export type { RandomSource } from '../std/ids.ts';
export type { Log } from '../std/log.ts';
export type * from './actor.ts';
export { actor } from './actor.ts';
export { type ChildSpec, child } from './children.ts';
export type { DeadLetter, Refusal } from './dead-letters.ts';
export { kernelFaults } from './faults.ts';
export type * from './introspection/contract.ts';
export { introspectionFaults } from './introspection/contract.ts';
export type { KeyOf } from './loading.ts';
export { MAILBOX_DEFAULT, type MailboxPolicy } from './mailbox.ts';
export * from './protocol.ts';
export type { ResidentsView } from './residents/household.ts';
export {
  RESIDENTS_DEFAULTS,
  type Resident,
  type ResidentsOptions,
  residents,
  residentsProtocol,
} from './residents/residents.ts';
export type { RouteeView } from './routing/pool.ts';
export { type RouterArguments, type RouterOptions, router, routerProtocol } from './routing/router.ts';
export { SUPERVISION_DEFAULT } from './supervision.ts';
export { supervise } from './supervisor.ts';
export { type ActorSystem, type ActorSystemOptions, type ActorView, createActorSystem } from './system.ts';
export type { BootedThread, ThreadBootstrap } from './threads/bootstrap.ts';
export type { ThreadView } from './threads/thread-pool.ts';
