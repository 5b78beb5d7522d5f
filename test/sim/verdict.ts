// Verdict: what must be true of a simulation when all is quiet, of the kernel's state and of what the ledger holds.
// Conservation, delivery, one `terminated` a watch, asks that failed at once, supervision within its budget, names.

import type { Runtime } from '../../src/supervisor/runtime.ts';
import type { Simulation } from '../../src/supervisor/testkit/index.ts';
import type { Incarnation, Ledger } from './ledger.ts';
import { WITHIN_MS } from './node-actor.ts';

/** More than all pauses, slow ways and deaths that a message and its answer may meet. */
export const AT_ONCE_MS = 5_000;

export function judge(simulation: Simulation, ledger: Ledger): void {
  const runtimes = simulation
    .threads()
    .flatMap(({ isAlive, runtime }) => (isAlive && runtime !== null ? [runtime] : []));
  judgeCounters(simulation, runtimes, ledger);
  judgeMail(ledger);
  judgeAsks(ledger);
  judgeWatches(ledger);
  judgeBonds(ledger);
  judgeStreams(ledger);
  judgeFamilies(ledger);
  judgeCells(runtimes, ledger);
  judgeNames(runtimes, ledger);
}

function judgeCounters({ system }: Simulation, runtimes: readonly Runtime[], ledger: Ledger): void {
  const sums = { sent: 0, handled: 0, rejected: 0, deadLettered: 0, queued: 0 };
  for (const runtime of runtimes) {
    sums.sent += runtime.counters.sent;
    sums.handled += runtime.counters.handled;
    sums.rejected += runtime.counters.rejected;
    sums.deadLettered += runtime.counters.deadLettered;
    sums.queued += runtime.queued();
  }
  if (sums.sent !== sums.handled + sums.rejected + sums.deadLettered + sums.queued)
    ledger.violate(`sent is not handled + rejected + dead-lettered: ${JSON.stringify(sums)}`);
  const told = { ...system.counters(), queued: system.queued() };
  if (Object.entries(sums).some(([name, sum]) => told[name as keyof typeof sums] !== sum))
    ledger.violate(`the system tells ${JSON.stringify(told)} of ${JSON.stringify(sums)}`);
}

/** What was taken for an actor that lives, from a thread that lives, was handled. */
function judgeMail(ledger: Ledger): void {
  for (const { mail, isTaken, handledBy, deadlineMs, settled } of ledger.sent.values()) {
    if (mail.to === null || handledBy !== null || !isTaken || deadlineMs !== null || settled !== null)
      continue;
    if (!ledger.isAlive(mail.to) || !ledger.isReachable(mail.from)) continue;
    if (ledger.incarnations.get(mail.to)?.plan.isBounded === true || ledger.streams.has(mail.id)) continue;
    ledger.violate(`${mail.id} of ${mail.from} never came to ${mail.to}`);
  }
}

function judgeAsks(ledger: Ledger): void {
  for (const { mail, atMs, deadlineMs, handledBy, settled } of ledger.sent.values()) {
    if (deadlineMs === null || !ledger.isReachable(mail.from)) continue;
    if (settled === null) {
      ledger.violate(`ask ${mail.id} of ${mail.from} to ${mail.to} never settled`);
      continue;
    }
    if (settled.atMs > atMs + deadlineMs + AT_ONCE_MS)
      ledger.violate(`ask ${mail.id} settled long after its deadline`);
    const endedAtMs = Math.max(atMs, ledger.endedAtMs(mail.to ?? handledBy ?? 0));
    if (settled.atMs > endedAtMs + AT_ONCE_MS)
      ledger.violate(`ask ${mail.id} outlived its target: ${settled.outcome}`);
  }
}

function judgeWatches(ledger: Ledger): void {
  for (const [watch, { watcher, target, isOpen, told }] of ledger.watches) {
    if (!isOpen || !ledger.isAlive(watcher)) continue;
    if (told === null && !ledger.isAlive(target))
      ledger.violate(`watch ${watch}: ${watcher} was never told of the end of ${target}`);
    const reason = ledger.incarnations.get(target)?.reason ?? null;
    if (told === null || reason === null || !ledger.isReachable(target)) continue;
    if (![reason.kind, 'unknown_actor', 'killed'].includes(told.kind))
      ledger.violate(`watch ${watch} was told ${told.kind} of ${target}, which was ${reason.kind}`);
  }
}

/** A link that was not taken back does not leave one end alive when the other crashed or was lost. */
function judgeBonds(ledger: Ledger): void {
  for (const { one, other, atMs, isOpen } of ledger.bonds.values()) {
    if (!isOpen) continue;
    for (const [ended, survivor] of [
      [one, other],
      [other, one],
    ] as const) {
      const incarnation = ledger.incarnations.get(ended);
      if (incarnation === undefined || !ledger.isAlive(survivor)) continue;
      const isCrash = ledger.isReachable(ended)
        ? incarnation.reason?.kind === 'crashed'
        : // Its word of the link may have been lost with its thread.
          incarnation.endingAtMs === null && ledger.endedAtMs(ended) > atMs + AT_ONCE_MS / 5;
      if (isCrash) ledger.violate(`${survivor} outlived the crash of ${ended}, to which it is linked`);
    }
  }
}

function judgeStreams(ledger: Ledger): void {
  for (const [id, { ended, opened, closed }] of ledger.streams) {
    const sent = ledger.sent.get(id);
    if (sent === undefined) continue;
    if (ended === null && ledger.isReachable(sent.mail.from)) ledger.violate(`stream ${id} never ended`);
    if (closed > 1 || (closed < opened && ledger.isReachable(sent.handledBy ?? 0)))
      ledger.violate(`the producer of stream ${id} was opened ${opened} times and closed ${closed} times`);
  }
}

function judgeFamilies(ledger: Ledger): void {
  const families = Map.groupBy(ledger.incarnations.values(), ({ plan }) => plan.parent);
  for (const [parent, children] of families) {
    const supervisor = ledger.incarnations.get(parent);
    if (supervisor !== undefined) judgeBudget(ledger, supervisor, children);
    const isParentAlive = supervisor === undefined || ledger.isAlive(parent);
    for (const [spawn, incarnations] of Map.groupBy(children, ({ plan }) => plan.spawn)) {
      const living = incarnations.filter(({ address }) => ledger.isAlive(address.actor));
      if (!isParentAlive && living.length > 0) ledger.violate(`${spawn} outlived its parent ${parent}`);
      if (!isParentAlive || ledger.dismissed.has(spawn)) continue;
      const last = incarnations.at(-1);
      if (last === undefined || last.plan.restart === 'temporary') continue;
      const isStopped = last.plan.restart === 'transient' && last.reason?.kind === 'stopped';
      if (living.length === 0 && !isStopped) ledger.violate(`${spawn} was not started again by ${parent}`);
    }
  }
}

/** Restart intensity: never exceeded, and not survived by the supervisor when its children needed more. */
function judgeBudget(ledger: Ledger, supervisor: Incarnation, children: readonly Incarnation[]): void {
  const { restartsMax, strategy } = supervisor.plan;
  const windowMs = WITHIN_MS - 2 * AT_ONCE_MS;
  for (const [spawn, incarnations] of Map.groupBy(children, ({ plan }) => plan.spawn)) {
    const starts = incarnations.map(({ startedAtMs }) => startedAtMs);
    if (!ledger.areThreadsRetired && mostWithin(starts, windowMs) > restartsMax + 1)
      ledger.violate(`${spawn} was started more often than its supervisor's intensity allows`);
  }
  if (strategy !== 'one_for_one' || !ledger.isAlive(supervisor.address.actor)) return;
  const crashes = children.flatMap(({ address, plan, crashedAtMs }) => {
    const isCounted =
      crashedAtMs !== null && plan.restart !== 'temporary' && !ledger.dismissed.has(plan.spawn);
    return isCounted && ledger.isReachable(address.actor) ? [crashedAtMs] : [];
  });
  if (mostWithin(crashes, windowMs) > restartsMax)
    ledger.violate(`${supervisor.address.path} lives on after more crashes than its intensity allows`);
}

function mostWithin(times: readonly number[], windowMs: number): number {
  const counts = times.map((from) => times.filter((at) => at >= from && at < from + windowMs).length);
  return Math.max(0, ...counts);
}

/** The kernel's own view of who lives. */
function judgeCells(runtimes: readonly Runtime[], ledger: Ledger): void {
  const cells = new Map(runtimes.flatMap((runtime) => [...runtime.cells]));
  for (const [actor, { path }] of cells) {
    if (ledger.incarnations.has(actor) && !ledger.isAlive(actor))
      ledger.violate(`${path} (${actor}) is still there after its end`);
  }
  for (const [actor, { address }] of ledger.incarnations) {
    if (ledger.isAlive(actor) && !cells.has(actor)) ledger.violate(`${address.path} (${actor}) is gone`);
  }
  for (const cell of cells.values()) {
    for (const { id, actor } of cell.childViews()) {
      if (actor !== null && !cells.has(actor))
        ledger.violate(`${cell.path} believes that its child ${id} (${actor}) is alive`);
    }
  }
}

function judgeNames(runtimes: readonly Runtime[], ledger: Ledger): void {
  const [main, ...workers] = runtimes;
  if (main === undefined) return;
  const names = namesOf(main);
  for (const { thread, cells } of runtimes) {
    for (const { name, actor, path } of cells.values()) {
      if (name !== null && main.registry.find(name)?.actor !== actor)
        ledger.violate(`${path} on thread ${thread} bears ${name}, and the main thread does not know`);
    }
  }
  for (const [name, address] of main.registry.entries()) {
    const home = runtimes.find(({ thread }) => thread === address.thread);
    if (home?.cells.get(address.actor)?.name !== name)
      ledger.violate(`${name} is the name of ${address.actor}, which does not bear it`);
  }
  for (const worker of workers) {
    if (namesOf(worker) !== names)
      ledger.violate(`thread ${worker.thread} knows the names ${namesOf(worker)}, the main thread ${names}`);
  }
}

function namesOf({ registry }: Runtime): string {
  return [...registry.entries()]
    .map(([name, { actor }]) => `${name}=${actor}`)
    .sort()
    .join(' ');
}
