// RunHost: one on each run-host thread. Starts the runs that the directory places here, and the model client they share.
// O1 Announces itself when it is ready; after a lost thread its successor does the same from the new one.
// O2 Tells when its thread is being left, so that no new run is placed on it; those that are live may finish.
// O3 A run whose actor crashes is reported with the reason; the others on this thread do not notice. Not before what it has said is
//    written, which may take longer than the actor may take to stop.

import { type ActorContext, actor, type Behaviour } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { completions } from '../providers/protocol.ts';
import { Announcer } from './announcer.ts';
import { JournalWriter } from './journal-writer.ts';
import { OfferedTools } from './offered-tools.ts';
import { patiently } from './patience.ts';
import { type run, runFaults, runHost, runs } from './protocol.ts';
import { report } from './report.ts';
import { runActor } from './run.ts';
import type { RunJournal } from './run-journal.ts';
import { openRunStore } from './store.ts';

import '../services.ts';

/** Saving a stopped turn must fit into the time that a stop of the service may take. */
const RUN_SHUTDOWN_MS = 3_000;

export interface RunHostArguments {
  readonly name: string;
  /** The model client's behaviour, by module and name: its folder is not ours to import. */
  readonly completions: { readonly module: string; readonly exportName: string };
}

export const runHostActor = actor({
  module: import.meta.url,
  exportName: 'runHostActor',
  protocol: runHost,
  setup: async (
    context: ActorContext<typeof runHost>,
    { name, completions: behaviour }: RunHostArguments,
  ) => {
    await spawnCompletions(context, name, behaviour);
    const client = context.named(completions, clientName(name));
    const live = new Map<string, Ref<typeof run>>();
    const announcer = new Announcer((lastSeqs) => context.tell(runs, 'appended', { lastSeqs }));
    const journalWriter = new JournalWriter(openRunStore(context.services.storage).journals, (save) =>
      patiently(context, save),
    );
    const offeredTools = new OfferedTools();
    const journals = new Map<string, RunJournal>();
    const { address } = context;
    await report(context, () => context.ask(runs, 'host_ready', { name, address }));
    context.onRetire(() =>
      context.background(report(context, () => context.ask(runs, 'host_retiring', { address }))),
    );

    // O3: when the host itself ends, its end is the report.
    context.onStop(async () => {
      await Promise.all(Array.from(journals.values(), (journal) => journal.close()));
    });
    const reportLost = async (
      journal: RunJournal | undefined,
      loss: { readonly run_id: string; readonly message: string },
    ): Promise<void> => {
      await journal?.close();
      await report(context, () => context.ask(runs, 'run_lost', loss));
    };

    return {
      begin: (order) => {
        const { run_id } = order;
        const ref = context.spawn(
          runActor,
          { order, completions: client, announcer, journalWriter, offeredTools, journals },
          { id: run_id, restart: 'temporary', shutdownMs: RUN_SHUTDOWN_MS },
        );
        live.set(run_id, ref);
        context.watch(ref, ({ reason }) => {
          const journal = journals.get(run_id);
          live.delete(run_id);
          journals.delete(run_id);
          if (reason.kind === 'stopped') return;
          const message =
            reason.kind === 'crashed' ? 'The run failed on an internal error' : 'The run was ended';
          context.background(reportLost(journal, { run_id, message }));
        });
      },
      cancel: ({ run_id, cause }) => {
        live.get(run_id)?.tell('cancel', { cause });
      },
      steer: ({ run_id, steer_id, message }) => {
        const ref = live.get(run_id);
        if (ref === undefined) throw runFaults.run_not_active('The run is not active');
        return ref.ask('steer', { steer_id, message });
      },
    };
  },
});

async function spawnCompletions(
  context: ActorContext<typeof runHost>,
  host: string,
  { module, exportName }: RunHostArguments['completions'],
): Promise<void> {
  const exports = (await import(module)) as Record<string, Behaviour<typeof completions, undefined>>;
  const behaviour = exports[exportName];
  if (behaviour === undefined) throw new Error(`${module} exports no ${exportName}`);
  // By name, so that runs find its successor after a crash.
  context.spawn(behaviour, undefined, { id: 'completions', name: clientName(host), restart: 'permanent' });
}

function clientName(host: string): string {
  return `completions@${host}`;
}
