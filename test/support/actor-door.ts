// A door to actors that are plain functions: the contract of `Ref`, without a system behind it.

import type { Handlers } from '../../src/supervisor/actor.ts';
import type { Protocol, Ref } from '../../src/supervisor/protocol.ts';

type Handler = (message: unknown, inquiry: { readonly signal: AbortSignal }) => unknown;

export class ActorDoorDouble {
  readonly #handlers = new Map<string, Readonly<Record<string, Handler>>>();

  /** Only the messages that the test sends need a handler. */
  seat<P extends Protocol>(protocol: P, handlers: Partial<Handlers<P>>): this {
    this.#handlers.set(protocol.name, handlers as Record<string, Handler>);
    return this;
  }

  named<P extends Protocol>(protocol: P): Ref<P> {
    const handler = (name: string): Handler => {
      const found = this.#handlers.get(protocol.name)?.[name];
      if (found === undefined) throw new Error(`nobody answers ${protocol.name}.${name}`);
      return found;
    };
    const never = new AbortController().signal;
    const ref = {
      path: `/double/${protocol.name}`,
      tell: (name: string, message: unknown) => {
        handler(name)(message, { signal: never });
        return true;
      },
      ask: async (name: string, message: unknown, options: { readonly signal?: AbortSignal } = {}) =>
        handler(name)(message, { signal: options.signal ?? never }),
      stream: (name: string, message: unknown, options: { readonly signal?: AbortSignal } = {}) =>
        (handler(name)(message, { signal: options.signal ?? never }) as AsyncIterable<unknown>)[
          Symbol.asyncIterator
        ](),
    };
    return ref as unknown as Ref<P>;
  }
}
