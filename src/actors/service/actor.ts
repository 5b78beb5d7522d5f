// Service: what the process says about itself. Owns nothing; asks the storage of its own thread, and the embeddings.

import { errorText, isFault } from '../../std/errors.ts';
import type { Log } from '../../std/log.ts';
import type { Storage } from '../../storage/contract.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import { type EngineStatus, embeddings } from '../embeddings/protocol.ts';
import { healthReport, type StoreFinding } from './health.ts';
import { CLIENT_VERSION_MIN, PROTOCOL_VERSION, service } from './protocol.ts';
import '../services.ts';

/** It answers from memory; who asks for the health does not wait for it any longer. */
const ENGINE_MS_MAX = 1_000;

export const serviceActor = actor({
  module: import.meta.url,
  exportName: 'serviceActor',
  protocol: service,
  setup(context: ActorContext<typeof service>) {
    const {
      services: { storage, version },
      log,
    } = context;
    return {
      index: () => ({ message: `Troupe ${version} is running. The API is described at /api/docs.` }),
      version: () => ({
        version,
        protocol_version: PROTOCOL_VERSION,
        min_client_version: CLIENT_VERSION_MIN,
      }),
      async health(query) {
        const store = lookAt(storage, log);
        return healthReport(version, { store, engine: await engineNow() }, query);
      },
    };

    /** Null when nobody answers, which is a finding as well. */
    async function engineNow(): Promise<EngineStatus | null> {
      try {
        return await context.ask(embeddings, 'engine', {}, { deadlineMs: ENGINE_MS_MAX });
      } catch (error) {
        if (!isFault(error)) throw error;
        return null;
      }
    }
  },
});

/** A store that cannot be read is a finding here, not a crash: health is what is asked when things go wrong. */
function lookAt(storage: Storage, log: Log): StoreFinding {
  try {
    return { kind: 'readable', bytesOnDisk: storage.statistics().bytesOnDisk };
  } catch (error) {
    log.error({ detail: errorText(error) }, 'the store does not answer'); // H2
    return { kind: 'unreadable' };
  }
}
