// Supervisor: an actor that does nothing but start its children in order and keep them. See supervision.ts and children.ts
// for what "keep" means. Supervisors live beside their parent; their children live where their placement says.

import { actor, type Behaviour, type ChildOptions, type Supervision } from './actor.ts';
import { type ChildSpec, child } from './children.ts';
import { type Protocol, protocol } from './protocol.ts';
import { SUPERVISION_DEFAULT } from './supervision.ts';

/** A supervisor understands no mail. */
export const supervisorProtocol: Protocol<Record<never, never>> = protocol('supervisor', {});

export interface SupervisorArguments {
  readonly supervision: Supervision;
  readonly children: readonly ChildSpec[];
}

export const supervisorActor: Behaviour<typeof supervisorProtocol, SupervisorArguments> = actor({
  module: import.meta.url,
  exportName: 'supervisorActor',
  protocol: supervisorProtocol,
  setup: async (context, { supervision, children }) => {
    context.supervise(supervision);
    for (const { behaviour, args, options } of children) {
      context.spawn(behaviour, args, options);
      await context.childStarted(options.id);
    }
    return {};
  },
});

/** A supervisor takes as long as its children, of which each has its own deadline. */
const SHUTDOWN_MS = Number.POSITIVE_INFINITY;

/** An entry of a tree: `supervise({ id: 'providers' }, [child(…), child(…)], { strategy: 'rest_for_one' })`. */
export function supervise(
  options: ChildOptions,
  children: readonly ChildSpec[],
  supervision: Partial<Supervision> = {},
): ChildSpec {
  return child(
    supervisorActor,
    { supervision: { ...SUPERVISION_DEFAULT, ...supervision }, children },
    { shutdownMs: SHUTDOWN_MS, ...options },
  );
}
