// Parent: an actor whose context the test holds, so that the test itself spawns, watches, asks and stops.

import { present } from '../../src/std/assert.ts';
import { type ActorContext, actor, type ChildOptions } from '../../src/supervisor/actor.ts';
import { protocol } from '../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../src/supervisor/system.ts';

/** It lives on the main thread and starts at once. */
export function openParent(system: ActorSystem, options: Partial<ChildOptions> = {}): ActorContext {
  let started = null as ActorContext | null;
  const behaviour = actor({
    module: import.meta.url,
    exportName: '(closes over its test)',
    protocol: protocol('parent', {}),
    setup: (context) => {
      started = context as ActorContext;
      return {};
    },
  });
  system.spawn(behaviour, undefined, { id: 'parent', restart: 'temporary', ...options });
  return present(started, 'the context of the parent');
}
