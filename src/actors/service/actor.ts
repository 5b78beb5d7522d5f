// Service: what the process says about itself. Owns nothing; asks the storage of its own thread.

import { errorText } from '../../std/errors.ts';
import type { Log } from '../../std/log.ts';
import type { Storage } from '../../storage/contract.ts';
import { actor } from '../../supervisor/actor.ts';
import { healthReport, type StoreFinding } from './health.ts';
import { CLIENT_VERSION_MIN, PROTOCOL_VERSION, service } from './protocol.ts';
import '../services.ts';

export const serviceActor = actor({
  module: import.meta.url,
  exportName: 'serviceActor',
  protocol: service,
  setup({ services: { storage, version }, log }) {
    return {
      index: () => ({ message: `Troupe ${version} is running. The API is described at /api/docs.` }),
      version: () => ({
        version,
        protocol_version: PROTOCOL_VERSION,
        min_client_version: CLIENT_VERSION_MIN,
      }),
      health(query) {
        const store = lookAt(storage, log);
        return healthReport(version, store, query);
      },
    };
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
