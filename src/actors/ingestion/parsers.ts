// Parsers: a thread for each document that is being read, kept for the next one.
// R1 A parser that is lost, with its thread or by a bug, costs its document. The next one gets another.

import { isFault } from '../../std/errors.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Ref } from '../../supervisor/protocol.ts';
import { indexingFaults } from './indexing-protocol.ts';
import { parserActor } from './parser.ts';
import type { ParsedPart, ParseOrder, parser } from './parser-protocol.ts';

type Parser = Ref<typeof parser>;

const LOST: ReadonlySet<string> = new Set(['actor_terminated', 'actor_crashed', 'actor_unavailable']);

export class Parsers {
  readonly #context: ActorContext;
  readonly #free: Parser[] = [];
  #spawned = 0;

  constructor(context: ActorContext) {
    this.#context = context;
  }

  /** @throws parser_lost, and what the parser has to say */
  async *parse(order: ParseOrder, signal: AbortSignal): AsyncGenerator<ParsedPart> {
    const parser = this.#free.pop() ?? this.#spawn();
    let isReusable = false;
    try {
      yield* parser.stream('parse', order, { signal });
      isReusable = true;
    } catch (error) {
      if (isFault(error) && LOST.has(error.code)) {
        throw indexingFaults.parser_lost('Reading it took too long, or too much memory');
      }
      isReusable = isFault(error);
      throw error;
    } finally {
      // One that was left in the middle may be at it for a while yet.
      if (isReusable && !signal.aborted) this.#free.push(parser);
      else this.#context.background(this.#context.stopChild(idOf(parser)));
    }
  }

  #spawn(): Parser {
    this.#spawned += 1;
    return this.#context.spawn(parserActor, undefined, {
      id: `parser-${this.#spawned}`,
      restart: 'temporary',
      placement: 'dedicated',
    });
  }
}

function idOf({ path }: Parser): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
