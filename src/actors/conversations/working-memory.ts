// Working memory: what belongs to one conversation beside its transcript: structured state, checkpoints, scratchpad.
// Pure decisions; the store keeps what they return.
// W1 Every part is bounded: beyond its bound the oldest gives way to the newest, and a long text is cut.
// W2 An entry that the agent notes a second time is renewed, not doubled.
// W3 Checkpoints: the first is the anchor of the conversation and gives way last. Beyond the bound the second oldest goes;
//    each lapses after its lifetime, the first only when all the others have.
// W4 `replace` means the same everywhere: what was there before is forgotten.
// W5 It may exist before the conversation does, whose first rows come only when its first turn ends.

import { isoTimestamp } from '../../std/clock.ts';
import { beginning, ending } from './excerpt.ts';
import {
  CHECKPOINT_LIFETIME_MS,
  CHECKPOINTS_MAX,
  type Checkpoint,
  type ConversationState,
  conversationFaults,
  SCRATCHPAD_LENGTH_MAX,
  STATE_ENTRIES_MAX,
  STATE_ENTRY_LENGTH_MAX,
  STATE_NARRATIVE_LENGTH_MAX,
  STATE_SLOTS,
  type StateEntry,
  type StateSlot,
} from './protocol.ts';

/** A checkpoint is put into every later prompt: its texts are as short as the entries of the state. */
export const CHECKPOINT_SUMMARY_LENGTH_MAX = 2000;
export const CHECKPOINT_DECISIONS_MAX = 20;
export const CHECKPOINT_LINE_LENGTH_MAX = 600;

export interface KeptCheckpoint {
  readonly summary: string;
  readonly decisions: readonly string[];
  readonly nextStep: string;
  readonly createdAtMs: number;
}

export interface WorkingMemory {
  readonly state: ConversationState;
  /** Oldest first. */
  readonly checkpoints: readonly KeptCheckpoint[];
  readonly scratchpad: string;
}

export const EMPTY_MEMORY: WorkingMemory = {
  state: { goals: [], decisions: [], open_threads: [], artifacts: [], narrative: [], digest: '' },
  checkpoints: [],
  scratchpad: '',
};

/** An entry as a client sends it. */
export type EntryInput =
  | string
  | { readonly text: string; readonly author?: string; readonly source_turn?: number | null };

// ---- Structured state.

/** @throws conversation_invalid */
export function parseSlot(slot: string): StateSlot {
  const known = STATE_SLOTS.find((name) => name === slot);
  if (known !== undefined) return known;
  throw conversationFaults.conversation_invalid(`slot must be one of ${STATE_SLOTS.join(', ')}`);
}

/** Entries without an author are the user's. @throws conversation_invalid */
export function parseEntries(entries: readonly EntryInput[], nowMs: number): StateEntry[] {
  return entries.map((entry) => {
    const { text, author = 'user', source_turn = null } = typeof entry === 'string' ? { text: entry } : entry;
    if (author !== 'user' && author !== 'agent') {
      throw conversationFaults.conversation_invalid('author must be user or agent');
    }
    return { text, author, source_turn, updated_at: isoTimestamp(nowMs) };
  });
}

export function agentEntries(texts: readonly string[], sourceTurn: number, nowMs: number): StateEntry[] {
  return texts.map((text) => ({
    text,
    author: 'agent',
    source_turn: sourceTurn,
    updated_at: isoTimestamp(nowMs),
  }));
}

/** W1, W4. Blank entries are left out: that is how a line is deleted. */
export function replaceSlot(
  memory: WorkingMemory,
  slot: StateSlot,
  entries: readonly StateEntry[],
): WorkingMemory {
  const kept = keptEntries(slot, entries).slice(-STATE_ENTRIES_MAX);
  return { ...memory, state: { ...memory.state, [slot]: kept } };
}

/** W1, W2. */
export function addToSlot(
  memory: WorkingMemory,
  slot: StateSlot,
  entries: readonly StateEntry[],
): WorkingMemory {
  const renewed = new Set(keptEntries(slot, entries).map((entry) => entry.text));
  const others = memory.state[slot].filter((entry) => !renewed.has(entry.text));
  return replaceSlot(memory, slot, [...others, ...entries]);
}

// ---- Checkpoints.

export function addCheckpoint(
  memory: WorkingMemory,
  checkpoint: KeptCheckpoint,
  replace: boolean,
): WorkingMemory {
  const bounded: KeptCheckpoint = {
    summary: beginning(checkpoint.summary, CHECKPOINT_SUMMARY_LENGTH_MAX),
    decisions: checkpoint.decisions
      .slice(0, CHECKPOINT_DECISIONS_MAX)
      .map((decision) => beginning(decision, CHECKPOINT_LINE_LENGTH_MAX)),
    nextStep: beginning(checkpoint.nextStep, CHECKPOINT_LINE_LENGTH_MAX),
    createdAtMs: checkpoint.createdAtMs,
  };
  const earlier = replace ? [] : liveCheckpoints(memory, checkpoint.createdAtMs);
  return { ...memory, checkpoints: withinBound([...earlier, bounded]) };
}

/** W3. */
export function liveCheckpoints(memory: WorkingMemory, nowMs: number): readonly KeptCheckpoint[] {
  const [first, ...later] = memory.checkpoints;
  if (first === undefined) return [];
  const isLive = (checkpoint: KeptCheckpoint) => nowMs - checkpoint.createdAtMs < CHECKPOINT_LIFETIME_MS;
  const liveLater = later.filter(isLive);
  return liveLater.length > 0 || isLive(first) ? [first, ...liveLater] : [];
}

export function viewCheckpoint(checkpoint: KeptCheckpoint): Checkpoint {
  return {
    summary: checkpoint.summary,
    decisions: [...checkpoint.decisions],
    next_step: checkpoint.nextStep,
    created_at: isoTimestamp(checkpoint.createdAtMs),
  };
}

// ---- Scratchpad.

/** W1, W4. Each note is a line of its own. */
export function writeScratchpad(memory: WorkingMemory, note: string, replace: boolean): WorkingMemory {
  const before = replace ? '' : memory.scratchpad;
  const text = before === '' ? note : `${before}\n${note}`;
  return { ...memory, scratchpad: ending(text, SCRATCHPAD_LENGTH_MAX) };
}

// ---- All of it.

/** Names of the parts that hold something, as a deletion reports them. */
export function filledParts(memory: WorkingMemory): string[] {
  const parts: readonly (readonly [string, boolean])[] = [
    ['state', STATE_SLOTS.some((slot) => memory.state[slot].length > 0)],
    ['summary', memory.state.digest !== ''],
    ['checkpoints', memory.checkpoints.length > 0],
    ['scratchpad', memory.scratchpad !== ''],
  ];
  return parts.filter(([, filled]) => filled).map(([name]) => name);
}

function keptEntries(slot: StateSlot, entries: readonly StateEntry[]): StateEntry[] {
  const lengthMax = slot === 'narrative' ? STATE_NARRATIVE_LENGTH_MAX : STATE_ENTRY_LENGTH_MAX;
  return entries
    .map((entry) => ({ ...entry, text: beginning(entry.text.trim(), lengthMax) }))
    .filter((entry) => entry.text !== '');
}

function withinBound(checkpoints: readonly KeptCheckpoint[]): readonly KeptCheckpoint[] {
  if (checkpoints.length <= CHECKPOINTS_MAX) return checkpoints;
  return [...checkpoints.slice(0, 1), ...checkpoints.slice(1 - CHECKPOINTS_MAX)];
}
