// Tool: what the model can call, as its author writes it. A family of tools is a file that exports an array of them.
// B1 `run` gets arguments that fit its schema, and a context that is all it may reach.
// B2 `run` answers with text. A Fault or any other throw becomes an error text for the model (see `actor.ts`).

import type { RandomSource } from '../../std/ids.ts';
import type { Static, TObject } from '../../std/schema.ts';
import type { CallsOf, Protocol, ReplyFrom, RequestTo } from '../../supervisor/protocol.ts';
import type { Settings } from '../config/protocol.ts';
import type { MediaRef } from '../providers/protocol.ts';
import type { Exhibit, ToolCaller, ToolDescription } from './protocol.ts';

export interface ToolContext {
  readonly caller: ToolCaller;
  readonly toolCallId: string;
  readonly random: RandomSource;
  /** Aborted when the caller gave up or the tool's deadline passed; every `ask` carries it already. */
  readonly signal: AbortSignal;
  ask<Q extends Protocol, Name extends CallsOf<Q>>(
    protocol: Q,
    name: Name,
    message: RequestTo<Q, Name>,
  ): Promise<ReplyFrom<Q, Name>>;
}

export interface ToolAnswer {
  readonly content: string;
  readonly exhibits?: readonly Exhibit[];
  readonly images?: readonly MediaRef[];
  readonly loaded?: readonly ToolDescription[];
}

interface ToolTraits {
  readonly name: string;
  readonly description: string;
  /** Leaves something behind: not offered to an ephemeral turn, and refused to one. */
  readonly writesMemory?: true;
  /** Works on the documents of the turn's project: not offered outside of one. */
  readonly needsProject?: true;
  /** Shows images: not offered to a model that sees none. */
  readonly needsVision?: true;
  /** Reads what is stored already: a long answer is not stored a second time. */
  readonly readsStored?: true;
  /** Whether it is offered; it stays callable otherwise. */
  offeredWhen?(settings: Settings): boolean;
}

export interface Tool extends ToolTraits {
  readonly parameters: TObject;
  run(args: unknown, context: ToolContext): Promise<ToolAnswer> | ToolAnswer;
}

export interface ToolDefinition<Parameters extends TObject> extends ToolTraits {
  readonly parameters: Parameters;
  run(args: Static<Parameters>, context: ToolContext): Promise<ToolAnswer> | ToolAnswer;
}

/** Checks the types of a definition, then forgets them, so that tools of all kinds fit in one registry. */
export function defineTool<Parameters extends TObject>(definition: ToolDefinition<Parameters>): Tool {
  return definition as unknown as Tool;
}

/** An answer as JSON text: what models read best when it has members. */
export function jsonAnswer(value: object): ToolAnswer {
  return { content: JSON.stringify(value) };
}

/** A failure as the wire knows it: content that begins with `{"error"`. */
export function errorAnswer(message: string): ToolAnswer {
  return { content: JSON.stringify({ error: message }) };
}

export function isError(content: string): boolean {
  return content.startsWith('{"error"') || content.startsWith('Error:');
}
