// LoadBehaviour: a behaviour comes to another thread as the name of a module and of its export.

import { errorText } from '../../std/errors.ts';
import type { Behaviour } from '../actor.ts';

// biome-ignore lint/suspicious/noExplicitAny: what a module exports is known by its name only.
export async function loadBehaviour(module: string, exportName: string): Promise<Behaviour<any, any>> {
  try {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const exports: Record<string, any> = await import(module);
    if (typeof exports[exportName]?.setup !== 'function')
      throw new Error(`it has no behaviour ${exportName}`);
    return exports[exportName];
  } catch (error) {
    throw new Error(`cannot load ${exportName} of ${module}: ${errorText(error)}`);
  }
}
