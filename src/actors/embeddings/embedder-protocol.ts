// Embedder: one thread that has models and runs them. Asked by `embeddings` only.
// D1 A run blocks its thread; so work is run in slices of about SLICE_MS, and between two of them whatever is interactive goes
//    first, then what was asked for longest.
// D2 An order that nobody waits for any more is dropped at its next slice.
// D3 A model is opened with the first order that names it, and is what it was when it was locked, or is refused.
// D4 A vector is of numbers. Models of half precision overflow at some texts: that is the text's fault, as nothing else helps.

import { declareFaults } from '../../std/errors.ts';
import { call, protocol } from '../../supervisor/protocol.ts';
import type { EngineSource } from './engine-source.ts';
import { embeddingFaults, type Priority, type TextKind } from './protocol.ts';

export const embedderFaults = declareFaults({
  /** D3. What the source holds now makes other vectors. */
  engine_changed: 'conflict',
});

export interface EngineFacts {
  readonly model: string;
  readonly dimensions: number;
  readonly digest: string;
}

export interface EmbedOrder {
  /** Of this order alone; the usage ledger knows it by that. */
  readonly id: string;
  readonly source: EngineSource;
  readonly digest: string;
  readonly texts: readonly string[];
  readonly kind: TextKind;
  readonly priority: Priority;
}

export interface Vectors {
  /** One behind the other, in the order of the texts: one buffer crosses the threads quicker than many. */
  readonly vectors: Float32Array;
  /** Of each text. */
  readonly tokens: readonly number[];
}

export interface EmbedResult extends Vectors {
  /** How long its thread could do nothing else; 0 of what was computed elsewhere. */
  readonly busyMs: number;
}

const faults = { ...embeddingFaults, ...embedderFaults };

export const embedder = protocol('embedder', {
  inspect: call<EngineSource, EngineFacts>({ faults }),
  embed: call<EmbedOrder, EmbedResult>({ faults }),
});
