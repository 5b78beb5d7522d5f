// Documents that harm their reader: each costs itself, and nothing else. Real threads, and real loops and memory.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { configActor } from '../../../src/actors/config/actor.ts';
import { readOperatorFile } from '../../../src/actors/config/operator-file.ts';
import { ingestionActor } from '../../../src/actors/ingestion/actor.ts';
import { parserActor } from '../../../src/actors/ingestion/parser.ts';
import { completionsActor } from '../../../src/actors/providers/completions.ts';
import { workspacesActor } from '../../../src/actors/workspaces/actor.ts';
import { type Document, HOME_ID, workspaces } from '../../../src/actors/workspaces/protocol.ts';
import { type Clock, systemClock } from '../../../src/std/clock.ts';
import { child } from '../../../src/supervisor/children.ts';
import { type ActorSystem, createActorSystem } from '../../../src/supervisor/system.ts';
import { openSystem } from '../../support/actor-system.ts';
import { eventually } from '../../support/eventually.ts';
import { hostileParser } from '../../support/hostile-parser.ts';
import { folderOfThisTest, openTemporaryStorage } from '../../support/storage.ts';

const TIMEOUT = { timeout: 150_000 };
const SETTLING = { timeout: 80_000, interval: 20 } as const;
/** Twice so long it takes to give a loop up; a busy machine may hold up any thread for a second or two. */
const STUCK_MS = 4_000;
/** A real timer may fire a part of a millisecond early, now and then; these always do, and by more. */
const EARLY: Clock = {
  nowMs: () => systemClock.nowMs(),
  monotonicMs: () => systemClock.monotonicMs(),
  startTimer: (delayMs, fire) => systemClock.startTimer(Math.max(0, delayMs - 2), fire),
};
const user_id = 'default';
const GOOD = 'Whales are large animals of the sea.';

const lost = { status: 'failed', error: 'Reading it took too long, or too much memory', progress: null };
const read = { status: 'ready', error: null, progress: null };

interface Ingestion {
  readonly system: ActorSystem;
  write(filename: string, content?: string): Promise<Document>;
  find(document: Document): Promise<Document>;
  settled(document: Document): Promise<Document>;
  /** The threads that ingestion has. */
  threads(): readonly string[];
}

/** Ingestion with what it needs; there are neither models nor vectors. */
async function openIngestion(
  settings: Readonly<Record<string, number>>,
  stuckMs: number,
): Promise<Ingestion> {
  const { directory, storage, close } = await openTemporaryStorage();
  onTestFinished(close);
  const file = join(directory, 'settings.json');
  await writeFile(file, JSON.stringify({ ingestion: settings }));
  const system = await createActorSystem({
    clock: EARLY,
    services: { storage, version: '0.0.0' },
    threads: {
      spare: false,
      heartbeatMs: 100,
      stuckMs,
      bootstrap: {
        module: new URL('../../../src/boot-thread.ts', import.meta.url).href,
        data: { dataDir: directory, version: '0.0.0' },
      },
    },
    children: [
      child(
        configActor,
        { environment: {}, keyFile: join(directory, 'settings.key'), operator: await readOperatorFile(file) },
        { id: 'config', name: true },
      ),
      child(workspacesActor, undefined, { id: 'workspaces', name: true }),
      child(
        ingestionActor,
        { completions: named(completionsActor), parser: named(hostileParser) },
        { id: 'ingestion', name: true },
      ),
    ],
  });
  onTestFinished(() => system.stop());
  const ref = system.named(workspaces);
  const find = async ({ id }: Document): Promise<Document> =>
    (await ref.ask('findDocument', { user_id, document_id: id })).document;
  return {
    system,
    async write(filename, content = GOOD) {
      return (await ref.ask('createText', { user_id, workspace_id: HOME_ID, filename, content })).document;
    },
    find,
    async settled(document) {
      await expect.poll(async () => (await find(document)).status, SETTLING).not.toBe('pending');
      return find(document);
    },
    threads: () => system.threads().flatMap(({ name }) => (name?.startsWith('ingestion/') ? [name] : [])),
  };
}

function named({ module, exportName }: { readonly module: string; readonly exportName: string }) {
  return { module, exportName };
}

test(
  'one that makes its parser loop is given up, and those beside and behind it are read',
  TIMEOUT,
  async () => {
    const { write, settled, threads } = await openIngestion({ idle_seconds: 1 }, STUCK_MS);
    const loop = await write('loops.md');
    const others = await Promise.all(['a.md', 'b.md', 'c.md'].map((name) => write(name)));
    for (const other of others) expect(await settled(other)).toMatchObject(read);
    expect(await settled(loop)).toMatchObject(lost);
    expect(await settled(await write('d.md'))).toMatchObject(read);
    // When there is nothing to do any more, nobody is kept for it.
    await eventually(threads).toEqual([]);
    expect(await settled(await write('e.md'))).toMatchObject(read);
  },
);

test('one that eats memory ends its thread at its limit, not the service', TIMEOUT, async () => {
  const { write, settled } = await openIngestion({ parser_heap_mb: 64 }, 1e9);
  const [hoard, good] = [await write('hoards heap.md'), await write('a.md')];
  expect(await settled(good)).toMatchObject(read);
  expect(await settled(hoard)).toMatchObject(lost);
  expect(await settled(await write('b.md'))).toMatchObject(read);
  expect(process.memoryUsage.rss()).toBeLessThan(1_500 * 1024 * 1024);
});

test.each([
  // An object of 32 bytes, and 16 in the list that holds it, for each three.
  ['bomb.json', `[${'[],'.repeat(1_900_000)}[]]`],
  // A string of 32 bytes for each place that is changed.
  ['ends.txt', 'a\r'.repeat(4_000_000)],
  ['nulls.txt', `${'text '.repeat(20_000)}${'a\0'.repeat(3_000_000)}`],
])('%s is parsed in less heap than one step over all of it would take', TIMEOUT, async (name, content) => {
  const path = join(await folderOfThisTest(), name);
  await writeFile(path, content);
  const system = await openSystem();
  const placement = { dedicated: { heapMaxMb: 64 } };
  const parser = system.spawn(parserActor, undefined, { id: 'parser', restart: 'temporary', placement });
  let chunks = 0;
  for await (const news of parser.stream('parse', { path, filename: name, withinMs: 100_000 })) {
    if (news.kind === 'part') chunks += news.chunks.length;
  }
  expect(chunks).toBeGreaterThan(1_000);
});
