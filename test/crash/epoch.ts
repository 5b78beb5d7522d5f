// Epoch: the life of one data folder under a service that is killed -9 again and again, at moments that a seed decides:
// while it starts and takes up what the last kill left, and while runs are under way. At last it is left in peace, every run
// must come to its end by itself, and everything is compared with what the clients saw on the way.

import { type RandomSource, seededRandom } from '../../src/std/ids.ts';
import type { DeclarativeScript } from '../support/provider-double-script.ts';
import { orderOf, payloadsOf } from '../support/run-events.ts';
import { type ServiceProcess, spawnService } from '../support/service-process.ts';
import type { ReadEvent } from '../support/sse-reader.ts';
import { temporaryFolder } from '../support/storage.ts';
import { DOUBLE_MODEL } from '../support/troupe.ts';
import {
  blocksOf,
  cancel,
  flawsOf,
  followOn,
  hasEnded,
  newWitness,
  rowFlaws,
  startAndFollow,
  steer,
  type Witness,
} from './witness.ts';

export interface EpochOptions {
  readonly seed: number;
  readonly kills: number;
  readonly providerUrl: string;
}

export interface EpochReport {
  readonly kills: number;
  /** Of the runs that were accepted as far as their clients know. */
  readonly fates: Readonly<Record<'done' | 'failed' | 'cancelled' | 'resumed' | 'unseen', number>>;
  readonly events: number;
  /** Empty when nothing was lost, repeated, mixed up or stuck. */
  readonly flaws: readonly string[];
}

const ANSWER = Array.from({ length: 12 }, (_, i) => `word${i} `);
/** Leaves one mark for each time that it is made. */
const MARKING_TOOL = 'scratchpad_note';
const MARK = 'n';
/** Turns with three tool rounds and slow first tokens, and plain ones; some 0.5 s each. */
export const CRASH_SCRIPT: DeclarativeScript = {
  rules: [
    {
      when: { lastRole: 'user', lastText: 'note' },
      reply: {
        text: 'I note it. ',
        toolCalls: [{ name: MARKING_TOOL, arguments: { note: MARK } }],
        firstDelayMs: 60,
      },
    },
    {
      when: { lastRole: 'tool', lastText: 'scratchpad' },
      reply: { toolCalls: [{ name: 'checkpoint', arguments: { summary: 'noted' } }], firstDelayMs: 120 },
    },
    {
      when: { lastRole: 'tool', lastText: 'checkpoints' },
      reply: {
        toolCalls: [
          { name: 'update_conversation_state', arguments: { slot: 'goals', entries: ['to note'] } },
        ],
        firstDelayMs: 120,
      },
    },
    { when: {}, reply: { text: ANSWER, firstDelayMs: 100, chunkDelayMs: 8 } },
  ],
};

const KILLED_IN_START = 0.25;
const START_MS = { from: 150, to: 900 };
/** What is seen of the runs before the kill: a measure that a busy machine does not shift. */
const EVENTS_SEEN = { from: 0, to: 140 };
const LIVE_MS_MAX = 1_500;
const POLL_MS = 5;
/** Anything that takes longer is stuck, however busy the machine is. */
const STUCK_MS = 60_000;

export async function runEpoch({ seed, kills, providerUrl }: EpochOptions): Promise<EpochReport> {
  const random = seededRandom(seed);
  await using folder = await temporaryFolder();
  const witnesses: Witness[] = [];
  const start = (): ServiceProcess =>
    spawnService({
      dataDir: folder.directory,
      environment: { LMSTUDIO_BASE_URL: providerUrl },
      defaults: { model: DOUBLE_MODEL },
    });
  for (let kill = 0; kill < kills; kill += 1) {
    await using service = start();
    if (random.float() < KILLED_IN_START) {
      await after(between(random, START_MS));
    } else {
      await ready(service);
      await liveUntilKilled(service, witnesses, random);
    }
    await service.kill();
  }
  await using service = start();
  await ready(service);
  return { kills, ...(await examine(service, witnesses)) };
}

/** Goes on with what was under way, adds to it, and kills the service at some moment. */
async function liveUntilKilled(
  service: ServiceProcess,
  witnesses: Witness[],
  random: RandomSource,
): Promise<void> {
  const reading = witnesses.map((witness) => followOn(service, witness));
  const newcomers = newTurns(witnesses.length, random);
  witnesses.push(...newcomers);
  const lives = newcomers.map(async (witness, i) => {
    await after(random.float() * 60);
    const meddling = meddle(service, witness, random, `aside ${witnesses.length}.${i}`);
    await startAndFollow(service, witness);
    await meddling;
  });
  await progress(witnesses, between(random, EVENTS_SEEN));
  await after(random.float() * 30);
  await service.kill();
  await Promise.all([...reading, ...lives]);
}

/** One conversation with one turn, one with two or three at once, and one that may be known already. */
function newTurns(count: number, random: RandomSource): Witness[] {
  const turn = (session: string, i: number): Witness =>
    newWitness(session, `${random.float() < 0.6 ? 'note' : 'question'} number ${count + i}`);
  const several = Array.from({ length: 2 + Math.floor(random.float() * 2) }, (_, i) =>
    turn(`queue ${count}`, i),
  );
  const older = Math.floor(random.float() * (count + 1));
  return [...several, turn(`single ${count}`, several.length), turn(`single ${older}`, several.length + 1)];
}

async function meddle(
  service: ServiceProcess,
  witness: Witness,
  random: RandomSource,
  message: string,
): Promise<void> {
  const [steers, cancels] = [random.float() < 0.3, random.float() < 0.1];
  await after(random.float() * 400);
  if (steers) await steer(service, witness, message);
  if (cancels) await cancel(service, witness);
}

async function examine(
  service: ServiceProcess,
  witnesses: readonly Witness[],
): Promise<Omit<EpochReport, 'kills'>> {
  const flaws: string[] = [];
  const fates = { done: 0, failed: 0, cancelled: 0, resumed: 0, unseen: 0 };
  let events = 0;
  await Promise.race([
    Promise.all(witnesses.map((witness) => followOn(service, witness))),
    after(STUCK_MS, true),
  ]);
  const replays = new Map<string, readonly ReadEvent[]>();
  const listed = await statuses(service);
  for (const witness of witnesses) {
    const { runId, message } = witness;
    if (runId === null) fates.unseen += 1;
    else if (!hasEnded(witness))
      flaws.push(`run ${runId} (${message}) is stuck after ${orderOf(witness.seen)}`);
    else {
      const replay = await (await service.attach(runId)).rest();
      replays.set(message, replay);
      events += replay.length;
      flaws.push(...flawsOf(witness, replay, listed.get(runId)));
      const order = orderOf(replay);
      if (order.includes('status(resumed)')) fates.resumed += 1;
      fates[order.includes('done') ? 'done' : order.includes('error') ? 'failed' : 'cancelled'] += 1;
    }
  }
  if (flaws.length === 0) flaws.push(...(await examineConversations(service, witnesses, replays)));
  return { fates, events, flaws };
}

/** Of the newest runs, which is what can be listed. */
async function statuses(service: ServiceProcess): Promise<ReadonlyMap<string, string>> {
  const { body } = await service.call('GET', '/api/agent/chat/runs');
  return new Map(
    body.runs.map(({ run_id, status }: { run_id: string; status: string }) => [run_id, status] as const),
  );
}

async function examineConversations(
  service: ServiceProcess,
  witnesses: readonly Witness[],
  replays: ReadonlyMap<string, readonly ReadEvent[]>,
): Promise<readonly string[]> {
  const sessions = Map.groupBy(witnesses, ({ sessionId }) => sessionId);
  const found = await Promise.all(
    Array.from(sessions, async ([sessionId, turns]) => {
      const accepted = turns.filter(({ runId }) => runId !== null);
      const rows = await service.messages(sessionId).catch(() => []);
      const flaws = transcriptFlaws(blocksOf(rows), turns, replays);
      const last = await Promise.race([
        service.turn('note: and now?', { session_id: sessionId }),
        after(STUCK_MS, null),
      ]);
      if (last === null) return [...flaws, `${sessionId} is jammed`];
      const made = marksOf(last.events) - 1;
      const told = accepted.flatMap(({ message }) => replays.get(message) ?? []);
      // Of a call that was given up by a cancel it is not known whether it was made.
      const results = rows.filter(
        ({ role, metadata }) => role === 'tool_result' && metadata.tool === MARKING_TOOL && metadata.success,
      );
      const calls = payloadsOf(told, 'tool_call').filter(({ tool }) => tool === MARKING_TOOL);
      // Of a run that nobody heard of it is not known what it called before it was lost.
      const unheard = turns.length - accepted.length;
      if (made < results.length || made > calls.length + 2 * unheard) {
        flaws.push(
          `${calls.length} calls with ${results.length} results were made ${made} times in ${sessionId}`,
        );
      }
      return flaws;
    }),
  );
  return found.flat();
}

function transcriptFlaws(
  blocks: ReturnType<typeof blocksOf>,
  turns: readonly Witness[],
  replays: ReadonlyMap<string, readonly ReadEvent[]>,
): string[] {
  const flaws: string[] = [];
  for (const { message, runId } of turns) {
    const own = blocks.filter((block) => block.message === message);
    if (own.length > 1) flaws.push(`the turn "${message}" is stored ${own.length} times`);
    if (own.length === 0 && runId !== null) flaws.push(`the turn "${message}" is not stored`);
    const [block] = own;
    const replay = replays.get(message);
    if (block !== undefined && replay !== undefined) flaws.push(...rowFlaws(block, replay));
  }
  for (const { message } of blocks) {
    if (!turns.some((turn) => turn.message === message)) flaws.push(`nobody has asked "${message}"`);
  }
  return flaws;
}

/** How often the marking tool has left its mark in the conversation, this turn's included. */
function marksOf(events: readonly ReadEvent[]): number {
  const { content } = payloadsOf(events, 'tool_result').find(({ tool }) => tool === MARKING_TOOL);
  return (JSON.parse(content).scratchpad as string).split('\n').length;
}

/** Resolves when so many more events were seen, or when nothing more is to be expected. */
async function progress(witnesses: readonly Witness[], events: number): Promise<void> {
  const seenNow = (): number => witnesses.reduce((sum, { seen }) => sum + seen.length, 0);
  const enough = seenNow() + events;
  const untilMs = performance.now() + LIVE_MS_MAX;
  while (seenNow() < enough && performance.now() < untilMs) await after(POLL_MS);
}

async function ready(service: ServiceProcess): Promise<void> {
  const became = await Promise.race([service.ready().then(() => true), after(STUCK_MS, false)]);
  if (!became) throw new Error(`the service is not ready after ${STUCK_MS / 1000} s: ${service.stderr}`);
}

function between(random: RandomSource, { from, to }: { readonly from: number; readonly to: number }): number {
  return from + random.float() * (to - from);
}

/** The one wait in our tests that is for time itself: the moment of the kill is what is tested. */
function after(ms: number): Promise<void>;
function after<T>(ms: number, value: T): Promise<T>;
function after<T>(ms: number, value?: T): Promise<T | undefined> {
  return new Promise((resolve) => setTimeout(() => resolve(value), ms).unref());
}
