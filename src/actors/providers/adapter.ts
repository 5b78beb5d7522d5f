// Adapter: one way of asking a model, given a transport. An adapter translates and decides nothing about retries: the run
// that asks does, so that every wait is seen and can be cancelled.
// D1 Batches of deltas in order, `finish` last; after a fault nothing.
// D2 When the signal is aborted the request is aborted at once, and the stream just ends.

import type { Clock } from '../../std/clock.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { CompletionDelta, CompletionRequest } from './protocol.ts';
import type { Transport } from './transport.ts';

export interface AdapterTools {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
}

export type Adapter = (
  request: CompletionRequest,
  tools: AdapterTools,
  signal: AbortSignal,
) => AsyncGenerator<readonly CompletionDelta[], void, undefined>;
