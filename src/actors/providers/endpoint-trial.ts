// Endpoint trial: asks an endpoint that is not saved for its models, and says how that went.

import type { Clock } from '../../std/clock.ts';
import { errorText, isFault } from '../../std/errors.ts';
import { listModels } from './model-list.ts';
import type { Connection } from './protocol.ts';
import { faultOf } from './provider-failure.ts';
import type { Transport } from './transport.ts';

/** A client waits 20 s for the answer. */
const TRIAL_MS_MAX = 15_000;

export interface Trial {
  readonly reachable: boolean;
  readonly base_url: string;
  readonly elapsed_ms: number;
  readonly models_available: number;
  readonly models: string[];
  readonly error: string | null;
}

/** @throws provider_address_refused */
export async function tryEndpoint(
  connection: Connection,
  transport: Transport,
  clock: Clock,
  signal: AbortSignal,
): Promise<Trial> {
  const startedAtMs = clock.monotonicMs();
  const abort = new AbortController();
  const leave = (): void => abort.abort();
  signal.addEventListener('abort', leave, { once: true });
  const deadline = clock.startTimer(TRIAL_MS_MAX, leave);
  const outcome = (models: string[], error: string | null): Trial => ({
    reachable: error === null,
    base_url: connection.baseUrl,
    elapsed_ms: Math.round(clock.monotonicMs() - startedAtMs),
    models_available: models.length,
    models,
    error,
  });
  try {
    const models = await listModels(connection, transport, abort.signal);
    return outcome(
      models.map(({ id }) => id),
      null,
    );
  } catch (error) {
    if (abort.signal.aborted) return outcome([], `no answer within ${TRIAL_MS_MAX / 1000} s`);
    const fault = faultOf(error, { connection, begun: false, nowMs: clock.nowMs() });
    if (isFault(fault, 'provider_address_refused')) throw fault;
    return outcome([], errorText(fault));
  } finally {
    deadline.cancel();
    signal.removeEventListener('abort', leave);
  }
}
