// Node: the actor of the simulations. It does what it is told to, and writes all that happens to it into the ledger.

import { declareFaults, isFault } from '../../src/std/errors.ts';
import { type ActorContext, actor, type ChildOptions } from '../../src/supervisor/actor.ts';
import { type Address, call, protocol, type Ref, stream, tell } from '../../src/supervisor/protocol.ts';
import type { ChildPlan, Ledger, Mail } from './ledger.ts';

export type AnswerMode = 'now' | 'later' | 'never' | 'fault' | 'crash' | 'crash later';

export type Deed =
  | { readonly do: 'tell'; readonly to: Address | string; readonly count: number }
  | {
      readonly do: 'ask';
      readonly to: Address | string;
      readonly mode: AnswerMode;
      readonly afterMs: number;
      readonly deadlineMs: number;
      readonly abortAfterMs: number | null;
    }
  | {
      readonly do: 'stream';
      readonly to: Address;
      readonly count: number;
      readonly pauseMs: number;
      readonly takeMax: number;
      readonly failsAt: number | null;
    }
  | { readonly do: 'watch'; readonly target: Address; readonly unwatchAfterMs: number | null }
  | { readonly do: 'spawn'; readonly options: ChildOptions; readonly plan: Omit<ChildPlan, 'parent'> }
  | { readonly do: 'link'; readonly target: Address; readonly unlinkAfterMs: number | null }
  | { readonly do: 'set aside'; readonly forMs: number }
  | { readonly do: 'stop child'; readonly id: string; readonly drain: boolean }
  | { readonly do: 'stop' }
  | { readonly do: 'crash' }
  | { readonly do: 'crash later'; readonly afterMs: number }
  | { readonly do: 'time'; readonly key: string; readonly afterMs: number; readonly isRepeated: boolean }
  | { readonly do: 'pipe'; readonly afterMs: number; readonly fails: boolean };

export const nodeProtocol = protocol('node', {
  act: tell<{ readonly mail: Mail; readonly deed: Deed }>(),
  hear: tell<Mail>(),
  wonder: call<
    { readonly mail: Mail; readonly mode: AnswerMode; readonly afterMs: number },
    { readonly id: number }
  >(),
  count: stream<
    {
      readonly mail: Mail;
      readonly count: number;
      readonly pauseMs: number;
      readonly failsAt: number | null;
    },
    number
  >(),
});

const nodeFaults = declareFaults({ node_declined: 'not_allowed' });

type Context = ActorContext<typeof nodeProtocol>;

export const nodeActor = actor({
  module: 'test/sim/node-actor.ts',
  exportName: 'nodeActor',
  protocol: nodeProtocol,
  setup: (context: Context, plan: ChildPlan) => {
    const ledger = ledgerOf(context);
    const me = context.address.actor;
    const restarts = ledger.started(context.address, plan);
    context.signal.addEventListener('abort', () => ledger.ending(me), { once: true });
    context.supervise({
      strategy: plan.strategy,
      intensity: { restartsMax: plan.restartsMax, withinMs: WITHIN_MS },
      backoff: { initialMs: 0, maxMs: plan.backoffMaxMs },
    });
    context.onStop(async (reason) => {
      ledger.stopped(me, reason);
      if (plan.stopMs > 0) await sleep(context, plan.stopMs);
    });
    const handlers = {
      act: ({ mail, deed }: { mail: Mail; deed: Deed }) => {
        ledger.handle(me, mail);
        act(context, ledger, deed);
      },
      hear: (mail: Mail) => {
        if (ledger.setsAside(me, mail)) return context.stash();
        ledger.handle(me, mail);
      },
      wonder: (question: { mail: Mail; mode: AnswerMode; afterMs: number }) => {
        ledger.handle(me, question.mail);
        return answer(context, ledger, question);
      },
      count: (order: { mail: Mail; count: number; pauseMs: number; failsAt: number | null }) => {
        ledger.handle(me, order.mail);
        return countUp(context, ledger, order);
      },
    };
    const fails = restarts < plan.setupFailures;
    if (plan.setupMs === 0) {
      if (fails) throw crash(ledger, me);
      return handlers;
    }
    return sleep(context, plan.setupMs).then(() => {
      if (fails) throw crash(ledger, me);
      return handlers;
    });
  },
});

export const WITHIN_MS = 60_000;

function act(context: Context, ledger: Ledger, deed: Deed): void {
  const me = context.address.actor;
  ledger.note(`${me} is to ${JSON.stringify(deed)}`);
  switch (deed.do) {
    case 'tell':
      for (let i = 0; i < deed.count; i += 1) {
        const mail = ledger.send(me, actorOf(deed.to), null);
        if (!refOf(context, deed.to).tell('hear', mail)) refused(ledger, mail);
      }
      return;
    case 'ask':
      ask(context, ledger, deed);
      return;
    case 'stream':
      context.background(consume(context, ledger, deed));
      return;
    case 'watch': {
      const watch = ledger.watch(me, deed.target.actor);
      const unwatch = context.watch(deed.target, ({ reason }) => ledger.told(watch, reason));
      if (deed.unwatchAfterMs === null) return;
      context.after(`unwatch ${watch}`, deed.unwatchAfterMs, () => {
        const found = ledger.watches.get(watch);
        if (found !== undefined && found.told === null) found.isOpen = false;
        unwatch();
      });
      return;
    }
    case 'spawn':
      try {
        context.spawn(nodeActor, { ...deed.plan, parent: me }, deed.options);
        ledger.spawned(me, deed.options.id, deed.plan.spawn);
      } catch {
        // It has a child of that id already.
      }
      return;
    case 'link': {
      const link = ledger.link(me, deed.target.actor);
      const unlink = context.link(deed.target);
      if (deed.unlinkAfterMs === null) return;
      context.after(`unlink ${link}`, deed.unlinkAfterMs, () => {
        ledger.unlink(link);
        unlink();
      });
      return;
    }
    case 'set aside':
      ledger.beginAside(me);
      context.after('take back', deed.forMs, () => {
        ledger.endAside(me);
        context.unstashAll();
      });
      return;
    case 'stop child':
      ledger.dismiss(me, deed.id);
      context.pipe(context.stopChild(deed.id, { drain: deed.drain }), () =>
        ledger.does(me, `has stopped ${deed.id}`),
      );
      return;
    case 'stop':
      context.stopSelf();
      return;
    case 'crash':
      throw crash(ledger, me);
    case 'crash later':
      context.background(
        sleep(context, deed.afterMs).then(() => {
          throw new Error('as it was told to, later');
        }),
      );
      return;
    case 'time': {
      const token = ledger.timer(me, deed.key);
      const fire = (): void => ledger.fired(me, deed.key, token);
      if (deed.isRepeated) context.every(deed.key, deed.afterMs, fire);
      else context.after(deed.key, deed.afterMs, fire);
      return;
    }
    case 'pipe': {
      const work = sleep(context, deed.afterMs).then(() => {
        if (deed.fails) throw new Error('the work failed');
      });
      context.pipe(
        work,
        () => ledger.does(me, 'is done with its work'),
        () => ledger.does(me, 'has failed at its work'),
      );
      return;
    }
  }
}

function ask(context: Context, ledger: Ledger, deed: Extract<Deed, { do: 'ask' }>): void {
  const { to, mode, afterMs, deadlineMs, abortAfterMs } = deed;
  const mail = ledger.send(context.address.actor, actorOf(to), deadlineMs);
  const controller = new AbortController();
  if (abortAfterMs !== null) {
    context.after(`abort ${mail.id}`, abortAfterMs, () => controller.abort());
  }
  refOf(context, to)
    .ask('wonder', { mail, mode, afterMs }, { deadlineMs, signal: controller.signal })
    .then(
      (reply) => ledger.settle(mail.id, reply.id === mail.id ? 'reply' : `the reply to ${reply.id}`),
      (error: unknown) => ledger.settle(mail.id, isFault(error) ? error.code : String(error)),
    );
}

async function consume(
  context: Context,
  ledger: Ledger,
  deed: Extract<Deed, { do: 'stream' }>,
): Promise<void> {
  const { to, count, pauseMs, takeMax, failsAt } = deed;
  const mail = ledger.send(context.address.actor, to.actor, null);
  ledger.open(mail.id, count);
  let taken = 0;
  try {
    for await (const item of context
      .refTo(nodeProtocol, to)
      .stream('count', { mail, count, pauseMs, failsAt })) {
      ledger.item(mail.id, item);
      taken += 1;
      if (taken >= takeMax) break;
    }
    ledger.endOfStream(mail.id, taken >= takeMax ? 'left' : 'done');
  } catch (error) {
    ledger.endOfStream(mail.id, isFault(error) ? error.code : String(error));
  }
}

function answer(
  context: Context,
  ledger: Ledger,
  { mail, mode, afterMs }: { mail: Mail; mode: AnswerMode; afterMs: number },
): { readonly id: number } | Promise<{ readonly id: number }> {
  switch (mode) {
    case 'now':
      return { id: mail.id };
    case 'later':
      return sleep(context, afterMs).then(() => ({ id: mail.id }));
    case 'never':
      return new Promise(() => undefined);
    case 'fault':
      throw nodeFaults.node_declined('as it was told to');
    case 'crash':
      throw crash(ledger, context.address.actor);
    case 'crash later':
      return sleep(context, afterMs).then(() => {
        throw new Error('as it was told to, later');
      });
  }
}

async function* countUp(
  context: Context,
  ledger: Ledger,
  { mail, count, pauseMs, failsAt }: { mail: Mail; count: number; pauseMs: number; failsAt: number | null },
): AsyncGenerator<number> {
  const sequence = ledger.streams.get(mail.id);
  if (sequence !== undefined) sequence.opened += 1;
  try {
    for (let i = 0; i < count; i += 1) {
      if (pauseMs > 0) await sleep(context, pauseMs);
      if (i === failsAt) throw nodeFaults.node_declined('it counts no further');
      yield i;
    }
  } finally {
    if (sequence !== undefined) sequence.closed += 1;
  }
}

function refused(ledger: Ledger, mail: Mail): void {
  const sent = ledger.sent.get(mail.id);
  if (sent !== undefined) sent.isTaken = false;
}

function refOf(context: Context, to: Address | string): Ref<typeof nodeProtocol> {
  return typeof to === 'string' ? context.named(nodeProtocol, to) : context.refTo(nodeProtocol, to);
}

function actorOf(to: Address | string): number | null {
  return typeof to === 'string' ? null : to.actor;
}

function crash(ledger: Ledger, actorNumber: number): Error {
  ledger.crashing(actorNumber);
  return new Error('as it was told to');
}

function sleep(context: Context, ms: number): Promise<void> {
  if (ms === Number.POSITIVE_INFINITY) return new Promise(() => undefined);
  return new Promise((resolve) => context.clock.startTimer(ms, resolve));
}

function ledgerOf(context: Context): Ledger {
  const { ledger } = context.services;
  if (ledger === undefined) throw new Error('a node needs a ledger');
  return ledger;
}
