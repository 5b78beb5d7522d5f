// Inspector: the actor of each thread that answers about the others on it. It starts when it is first asked, has a number
// that every thread can work out, and is neither listed nor named. Its mail counts like any other.

import { errorText } from '../../std/errors.ts';
import { actor, type Behaviour } from '../actor.ts';
import type { Cell } from '../cell.ts';
import type { DeadLetter } from '../dead-letters.ts';
import { type Address, call, protocol, stream } from '../protocol.ts';
import type { Runtime } from '../runtime.ts';
import { type Batch, introspectionFaults, type TraceEvent } from './contract.ts';
import { LoopLag } from './loop-lag.ts';
import { surveyThread, type ThreadSurvey } from './survey.ts';
import { Tap } from './tap.ts';
import { type HandlerTable, Tracer } from './tracer.ts';

export interface InspectedThread extends ThreadSurvey {
  readonly heapUsedBytes: number;
  readonly loopLagMs: number | null;
}

const faults = introspectionFaults;

export const inspectorProtocol = protocol('inspector', {
  survey: call<{ readonly actorsMax: number }, InspectedThread>(),
  locate: call<{ readonly path: string }, Address | null>(),
  getState: call<{ readonly actor: number }, unknown>({ faults }),
  suspend: call<{ readonly actor: number }, true>({ faults }),
  resume: call<{ readonly actor: number }, true>({ faults }),
  trace: stream<{ readonly actor: number }, Batch<TraceEvent>>({ faults }),
  deadLetters: stream<{ readonly sinceMs: number }, Batch<DeadLetter>>(),
});

export function inspectorOf(runtime: Runtime): Behaviour<typeof inspectorProtocol, undefined> {
  return actor({
    module: import.meta.url,
    exportName: '(closes over the runtime of its thread, and is started by it)',
    protocol: inspectorProtocol,
    setup(context) {
      const lag = new LoopLag(context);
      const tracers = new Map<Cell, Tracer>();
      const find = (number: number): Cell => {
        const cell = runtime.cells.get(number);
        if (cell === undefined) throw faults.actor_not_found('There is no such actor any more');
        return cell;
      };
      return {
        survey({ actorsMax }) {
          return {
            ...surveyThread(runtime, actorsMax),
            heapUsedBytes: process.memoryUsage().heapUsed,
            loopLagMs: lag.takeMs(),
          };
        },
        locate({ path }) {
          for (const cell of runtime.cells.values()) if (cell.path === path) return cell.address;
          return null;
        },
        getState({ actor: number }) {
          const cell = find(number);
          const expose = runtime.exposed.get(cell);
          if (expose === undefined) throw faults.state_not_exposed(`${cell.path} does not expose its state`);
          try {
            return structuredClone(expose());
          } catch (error) {
            throw faults.state_unreadable(`The state of ${cell.path} cannot be read: ${errorText(error)}`);
          }
        },
        suspend({ actor: number }) {
          const cell = find(number);
          if (!cell.suspend()) throw notRunning(cell);
          return true;
        },
        resume({ actor: number }) {
          const cell = find(number);
          if (!cell.resume()) throw notRunning(cell);
          return true;
        },
        trace: ({ actor: number }) => trace(find(number), tracers, runtime),
        deadLetters({ sinceMs }) {
          const tap = new Tap<DeadLetter>(() => unlisten());
          const unlisten = runtime.deadLetters.onLetter((letter) => tap.push(letter));
          for (const letter of runtime.deadLetters.recent()) if (letter.atMs >= sinceMs) tap.push(letter);
          return tap;
        },
      };
    },
  });
}

function trace(cell: Cell, tracers: Map<Cell, Tracer>, { clock }: Runtime): Tap<TraceEvent> {
  const running = tracers.get(cell);
  if (running !== undefined) return running.open();
  let plain: HandlerTable | null = null;
  let forget = (): void => undefined;
  const tracer = new Tracer(clock, () => {
    forget();
    tracers.delete(cell);
    cell.interpose((current) => plain ?? current);
  });
  const isTraced = cell.interpose((handlers) => {
    plain = handlers;
    return tracer.around(handlers);
  });
  if (!isTraced) throw notRunning(cell);
  tracers.set(cell, tracer);
  // What it is handling when it ends is still noted.
  forget = cell.whenEnding(() => queueMicrotask(() => tracer.close()));
  return tracer.open();
}

function notRunning(cell: Cell): Error {
  return faults.actor_not_running(`${cell.path} is ${cell.state}`);
}
