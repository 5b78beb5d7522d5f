// Desk: what the parts of the directory actor work with. All of it lives as long as that actor, on its thread.

import type { ActorContext } from '../../supervisor/actor.ts';
import type { Admission } from './admission.ts';
import type { Directory } from './directory.ts';
import type { Outcomes } from './outcomes.ts';
import type { runs } from './protocol.ts';
import type { Readers } from './readers.ts';
import type { EphemeralSessions } from './sessions.ts';
import type { RunStore } from './store.ts';

export interface Desk {
  readonly context: ActorContext<typeof runs>;
  readonly store: RunStore;
  readonly admission: Admission;
  readonly directory: Directory;
  readonly readers: Readers;
  readonly outcomes: Outcomes;
  readonly sessions: EphemeralSessions;
}
