// Adapter: one way of asking a model, given a transport. An adapter translates and decides nothing about retries: the run
// that asks does, so that every wait is seen and can be cancelled.
// D1 Batches of deltas in order, `finish` last; after a fault nothing.
// D2 When the signal is aborted the request is aborted at once, and the stream just ends.
// D3 A call that takes longer than CALL_MS_MAX in all is given up, however busily it goes on.

import type { Clock } from '../../std/clock.ts';
import type { RandomSource } from '../../std/ids.ts';
import type { CompletionDelta, CompletionRequest } from './protocol.ts';
import type { RequestMedia } from './request-media.ts';
import type { Transport } from './transport.ts';

/** A long answer of a slow model at home takes half of it. */
export const CALL_MS_MAX = 30 * 60_000;

export interface AdapterTools {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: RandomSource;
  /** Of this request. */
  readonly media: RequestMedia;
}

export type Adapter = (
  request: CompletionRequest,
  tools: AdapterTools,
  signal: AbortSignal,
) => AsyncIterableIterator<readonly CompletionDelta[], void, undefined>;
