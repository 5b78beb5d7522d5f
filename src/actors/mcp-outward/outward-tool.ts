// OutwardTool: what a program that speaks MCP can call, as its author writes it: one file, one line in the registry.
// T1 `run` gets arguments that fit its schema, and a context that is all it may reach.
// T2 `run` answers texts for a model and the same as data for a program. A Fault that it throws becomes an answer (U4).

import type { Static, TObject } from '../../std/schema.ts';
import type { ActorContext } from '../../supervisor/actor.ts';
import type { Protocol, ReplyFrom, RequestTo, StreamsOf } from '../../supervisor/protocol.ts';
import type { OutwardAnswer } from './protocol.ts';

export interface OutwardContext extends Pick<ActorContext, 'clock' | 'random' | 'ask'> {
  readonly userId: string;
  /** Aborted when nobody waits for the answer any more, for whatever reason. */
  readonly signal: AbortSignal;
  /** Says how far it is; null when nobody listens. */
  readonly progress: ((message: string) => void) | null;
  /** Called at most once, when the client cancels the call (U3); at once if it has already. */
  whenCancelled(undo: () => void): void;
  /** As of an actor, but never without a signal. */
  stream<Q extends Protocol, Name extends StreamsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ReplyFrom<Q, Name>>;
  /** What nobody waits for; its failure is logged. */
  aside(work: Promise<unknown>): void;
}

interface ToolTraits {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** Looks, and changes nothing. */
  readonly isReadOnly: boolean;
  /** May take something away. */
  readonly isDestructive?: boolean;
  /** The same call again changes nothing more. */
  readonly isIdempotent?: boolean;
  /** May reach beyond this service: an agent with tools of its own does. */
  readonly reachesOut?: boolean;
}

export interface OutwardTool extends ToolTraits {
  readonly parameters: TObject;
  readonly result: TObject;
  run(args: unknown, context: OutwardContext): Promise<OutwardAnswer>;
}

export interface OutwardToolDefinition<Parameters extends TObject, Result extends TObject>
  extends ToolTraits {
  readonly parameters: Parameters;
  readonly result: Result;
  run(args: Static<Parameters>, context: OutwardContext): Promise<Answered<Static<Result>>>;
}

interface Answered<Result> {
  readonly texts: readonly string[];
  readonly structured: Result;
  readonly isError: boolean;
}

/** Checks the types of a definition, then forgets them, so that tools of all kinds fit in one registry. */
export function defineOutwardTool<Parameters extends TObject, Result extends TObject>(
  definition: OutwardToolDefinition<Parameters, Result>,
): OutwardTool {
  return definition as unknown as OutwardTool;
}

export function errorAnswer(sentence: string): OutwardAnswer {
  return { texts: [sentence], isError: true };
}
