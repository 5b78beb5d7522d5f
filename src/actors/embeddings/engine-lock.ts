// EngineLock: which engine the vectors of a data folder belong to, and which they are made again for. Pure; B2 of protocol.ts.

import type { EngineFacts } from './embedder-protocol.ts';
import type { EngineSource } from './engine-source.ts';
import type { Engine } from './protocol.ts';

/** An engine, and what is needed to open it. */
export interface EngineRecord extends Engine {
  readonly source: EngineSource;
  /** Of everything that its vectors depend on. */
  readonly digest: string;
}

export interface EngineLock {
  readonly current: EngineRecord | null;
  readonly next: EngineRecord | null;
}

export const UNLOCKED: EngineLock = { current: null, next: null };

const DIGEST_DIGITS = 12;

export function engineRecord(source: EngineSource, facts: EngineFacts): EngineRecord {
  const provider = source.kind === 'remote' ? source.provider : 'local';
  const { model, dimensions, digest } = facts;
  const id = `${provider}:${model}:${dimensions}:${digest.slice(0, DIGEST_DIGITS)}`;
  return { id, provider, model, dimensions, source, digest };
}

/** What the settings name was found: the first one is locked, another one is the next. */
export function lockFor(lock: EngineLock, found: EngineRecord): EngineLock {
  if (lock.current === null || lock.current.id === found.id) return { current: found, next: null };
  return { current: lock.current, next: found };
}

/** Null when the engine is not the next one. */
export function switched({ next }: EngineLock, id: string): EngineLock | null {
  return next?.id === id ? { current: next, next: null } : null;
}

export function isSameLock(one: EngineLock, other: EngineLock): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** As others see it. */
export function engineView({ id, provider, model, dimensions }: EngineRecord): Engine {
  return { id, provider, model, dimensions };
}
