// Parsers: a thread for each document that is being read, kept for the next one.
// R1 A parser that is lost, with its thread or by a bug, costs its document. The next one gets another.

import { isFault } from '../../std/errors.ts';
import type { ActorContext, Behaviour } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { indexingFaults } from './indexing-protocol.ts';
import type { ParsedPart, ParseOrder, parser, ReadingProgress } from './parser-protocol.ts';

interface Parser {
  readonly ref: Ref<typeof parser>;
  readonly id: string;
  readonly heapMaxMb: number;
}

const LOST: ReadonlySet<string> = new Set(['actor_terminated', 'actor_crashed', 'actor_unavailable']);

export class Parsers {
  readonly #context: ActorContext;
  readonly #behaviour: Behaviour<typeof parser, undefined>;
  readonly #free: Parser[] = [];
  #spawned = 0;

  constructor(context: ActorContext, behaviour: Behaviour<typeof parser, undefined>) {
    this.#context = context;
    this.#behaviour = behaviour;
  }

  /** `heapMaxMb`: what the thread may take for it. @throws parser_lost, and what the parser has to say */
  async *parse(
    order: ParseOrder,
    heapMaxMb: number,
    signal: AbortSignal,
  ): AsyncGenerator<ReadingProgress | ParsedPart> {
    const parser = this.#taken(heapMaxMb);
    let isReusable = false;
    try {
      yield* parser.ref.stream('parse', order, { signal });
      isReusable = true;
    } catch (error) {
      if (isFault(error) && LOST.has(error.code)) {
        throw indexingFaults.parser_lost('Reading it took too long, or too much memory');
      }
      isReusable = isFault(error) && error.code !== 'document_too_slow';
      throw error;
    } finally {
      // One that was left in the middle may be at it for a while yet.
      if (isReusable && !signal.aborted) this.#free.push(parser);
      else this.#context.background(this.#context.stopChild(parser.id));
    }
  }

  /** One with another limit is of a time before that was set. */
  #taken(heapMaxMb: number): Parser {
    for (let free = this.#free.pop(); free !== undefined; free = this.#free.pop()) {
      if (free.heapMaxMb === heapMaxMb) return free;
      this.#context.background(this.#context.stopChild(free.id));
    }
    return this.#spawn(heapMaxMb);
  }

  #spawn(heapMaxMb: number): Parser {
    this.#spawned += 1;
    const id = `parser-${this.#spawned}`;
    const ref = this.#context.spawn(this.#behaviour, undefined, {
      id,
      restart: 'temporary',
      placement: { dedicated: { heapMaxMb } },
    });
    return { ref, id, heapMaxMb };
  }
}
