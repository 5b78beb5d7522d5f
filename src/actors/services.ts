// Services: what each thread's bootstrap puts up for the actors on it (see boot). Shared by reference, on one thread only.

import type { Storage } from '../storage/contract.ts';

declare module '../supervisor/actor.ts' {
  interface ThreadServices {
    readonly storage: Storage;
    /** Version of the service, from package.json. */
    readonly version: string;
  }
}
