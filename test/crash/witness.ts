// Witness: what the clients of one run saw of it, over all lives of the service, and what must be true of it in the end.

import { numberingFlaws, orderOf, payloadsOf } from '../support/run-events.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import type { ReadEvent, SseReader } from '../support/sse-reader.ts';
import type { Row } from '../support/troupe.ts';

export interface Witness {
  readonly sessionId: string;
  /** No other run has the same. */
  readonly message: string;
  /** Null: nobody was told that it was accepted. */
  runId: string | null;
  readonly seen: ReadEvent[];
  /** Messages that were accepted into it. */
  readonly steers: string[];
  /** Somebody has asked for it. */
  isCancelled: boolean;
}

export function newWitness(sessionId: string, message: string): Witness {
  return { sessionId, message, runId: null, seen: [], steers: [], isCancelled: false };
}

export function hasEnded({ seen }: Witness): boolean {
  return seen.at(-1)?.event === 'close';
}

/** Starts the run and reads it until it ends or the service is gone. */
export async function startAndFollow(service: ServiceProcess, witness: Witness): Promise<void> {
  const { message, sessionId } = witness;
  const reader = await unlessGone(service.chat(message, { session_id: sessionId }));
  if (reader !== null) await read(reader, witness);
}

/** Reads on where the witness stopped. */
export async function followOn(service: ServiceProcess, witness: Witness): Promise<void> {
  const { runId, seen } = witness;
  if (runId === null || hasEnded(witness)) return;
  const reader = await unlessGone(service.attach(runId, { after: seen.length }));
  if (reader !== null) await read(reader, witness);
}

/** Sends a message into the run, if it takes one. */
export async function steer(service: ServiceProcess, witness: Witness, message: string): Promise<void> {
  if (witness.runId === null) return;
  const answer = await unlessGone(service.steer(witness.runId, message));
  if (answer?.status === 200) witness.steers.push(message);
}

export async function cancel(service: ServiceProcess, witness: Witness): Promise<void> {
  if (witness.runId === null) return;
  // Asked is enough: the answer may be lost with the service that has heard it.
  witness.isCancelled = true;
  await unlessGone(service.cancel(witness.runId));
}

/** What is wrong with the run as it can be read now that it has ended. */
export function flawsOf(
  witness: Witness,
  replay: readonly ReadEvent[],
  status: string | undefined,
): string[] {
  const order = orderOf(replay);
  const names = replay.map(({ event }) => event);
  const count = (name: string): number => names.filter((event) => event === name).length;
  const end = names.at(-2) === 'done' ? 'done' : names.at(-2) === 'error' ? 'failed' : 'cancelled';
  const flaws = [...numberingFlaws(witness.seen), ...numberingFlaws(replay)];
  const check = (holds: boolean, what: string): void => {
    if (!holds) flaws.push(what);
  };
  check(isPrefix(witness.seen, replay), 'what was read before is missing, or another now');
  check(names.at(-1) === 'close' && count('close') === 1, 'it is not closed once');
  check(count('start') <= 1, 'it started twice');
  check(count('done') + count('error') <= 1, 'it ended twice');
  check(end !== 'cancelled' || witness.isCancelled, 'it was cancelled by nobody');
  check(status === undefined || status === end, `it is listed as ${status}, and ended as ${end}`);
  const steers = payloadsOf(replay, 'steer').map(({ message }) => message);
  check(
    witness.steers.every((message) => steers.filter((said) => said === message).length === 1),
    'a steer that was accepted was not said once',
  );
  return flaws.map((flaw) => `run ${witness.runId} (${witness.message}): ${flaw} [${order.join(' ')}]`);
}

/** The rows of one turn. */
export interface Block {
  readonly message: string;
  readonly rows: readonly Row[];
}

/** A transcript, turn by turn. */
export function blocksOf(rows: readonly Row[]): Block[] {
  const blocks: { message: string; rows: Row[] }[] = [];
  for (const row of rows) {
    const begins = row.role === 'user' && row.metadata?.steered !== true;
    if (begins || blocks.length === 0) blocks.push({ message: row.content, rows: [] });
    blocks.at(-1)?.rows.push(row);
  }
  return blocks;
}

/** What is wrong with the rows of a turn whose run can be read. */
export function rowFlaws({ message, rows }: Block, replay: readonly ReadEvent[]): string[] {
  const contentsOf = (role: string): readonly string[] =>
    rows
      .slice(1)
      .filter((row) => row.role === role)
      .map(({ content }) => content);
  const kept = rows.filter(({ role }) => role === 'tool_result').map(({ metadata }) => metadata.tool_call_id);
  const said = payloadsOf(replay, 'chunk')
    .map(({ content }) => content)
    .join('');
  const told = {
    tools: payloadsOf(replay, 'tool_result').map(({ tool_call_id }) => tool_call_id),
    steers: payloadsOf(replay, 'steer').map((steered) => steered.message),
    text: squeezed(said),
  };
  const stored = {
    tools: kept,
    steers: contentsOf('user'),
    text: squeezed(contentsOf('assistant').join('')),
  };
  const [a, b] = [JSON.stringify(told), JSON.stringify(stored)];
  return a === b ? [] : [`the turn "${message}" was told as ${a} and stored as ${b}`];
}

/** Texts of two model calls are told without a break and stored with one. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, '');
}

function isPrefix(seen: readonly ReadEvent[], replay: readonly ReadEvent[]): boolean {
  return JSON.stringify(replay.slice(0, seen.length)) === JSON.stringify(seen);
}

async function read(reader: SseReader, witness: Witness): Promise<void> {
  try {
    for await (const event of reader) {
      if (event.event === 'run_started') witness.runId = event.data.run_id;
      else witness.seen.push(event);
    }
  } catch {
    // It was cut; what had come by then has been kept.
  }
}

/** Null when the service was killed under it, or has refused. */
async function unlessGone<T>(asked: Promise<T>): Promise<T | null> {
  try {
    return await asked;
  } catch {
    return null;
  }
}
