// Model: what an embedder needs of an engine that is open. Three kinds: built in, a folder, remote (open-model.ts).

import type { EngineFacts, Vectors } from './embedder-protocol.ts';
import type { TextKind } from './protocol.ts';

export interface Model {
  readonly facts: EngineFacts;
  /** True when a run blocks the thread: such runs go one by one, in slices. */
  readonly isComputedHere: boolean;
  /** About how many characters of a text are looked at: what lies behind them costs nothing. */
  readonly charactersRead: number;
  /** Vectors of length 1. What a provider charges for them is entered for the order of that id. */
  run(texts: readonly string[], kind: TextKind, signal: AbortSignal, orderId?: string): Promise<Vectors>;
  close(): Promise<void>;
}
