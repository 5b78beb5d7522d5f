// A bootstrap that writes down, in the file that its data name, when a thread opens and closes its services.

import { appendFileSync } from 'node:fs';
import type { ThreadServices } from '../../src/supervisor/actor.ts';
import type { BootedThread } from '../../src/supervisor/threads/bootstrap.ts';

export async function bootThread(file: string): Promise<BootedThread> {
  appendFileSync(file, 'opened\n');
  return {
    services: {} as ThreadServices,
    close: async () => {
      appendFileSync(file, 'closed\n');
    },
  };
}
