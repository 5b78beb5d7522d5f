// Many runs and many readers: nobody waits for anybody else, and nothing is lost between them.

import { connect, type Socket } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { numberingFlaws, orderOf, textOf } from '../../support/run-events.ts';
import { openTroupe } from '../../support/troupe.ts';

const app = await openTroupe({ requestsKeptMax: 0 });
afterAll(() => app.close());

const WORDS = Array.from({ length: 20 }, (_, i) => `word${i} `);

test('200 runs at once complete, each with its own answer, its numbers without a gap', async () => {
  app.double.answer(({ body }) => ({
    text: [...WORDS, `for ${body.messages?.at(-1)?.content}`],
    chunkDelayMs: 10,
  }));
  const turns = await Promise.all(Array.from({ length: 200 }, (_, i) => app.turn(`question ${i}`)));
  for (const [i, { events }] of turns.entries()) {
    expect(textOf(events)).toBe(`${WORDS.join('')}for question ${i}`);
    expect(numberingFlaws(events)).toEqual([]);
    expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
  }
  expect(new Set(turns.map(({ runId }) => runId)).size).toBe(200);
  const rows = await Promise.all(turns.map(({ sessionId }) => app.messages(sessionId)));
  expect(rows.map((all) => all.map(({ content }) => content))).toEqual(
    turns.map((_, i) => [`question ${i}`, `${WORDS.join('')}for question ${i}`]),
  );
});

test('20 turns of one conversation at once are all kept, each in one piece', async () => {
  app.double.answer(({ body }) => ({
    text: `answer to ${body.messages?.at(-1)?.content}`,
    firstDelayMs: 20,
  }));
  const session_id = 'shared';
  await Promise.all(Array.from({ length: 20 }, (_, i) => app.turn(`question ${i}`, { session_id })));
  const contents = (await app.messages(session_id)).map(({ content }) => content);
  const questions = contents.filter((_, i) => i % 2 === 0);
  expect(contents).toEqual(questions.flatMap((question) => [question, `answer to ${question}`]));
  expect(questions.toSorted()).toEqual(Array.from({ length: 20 }, (_, i) => `question ${i}`).toSorted());
});

test('100 runs go on to their end though nobody reads them', async () => {
  app.double.answer({ text: WORDS, chunkDelayMs: 10 });
  const runs = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const { runId, reader } = await app.start('Count');
      await reader.leave();
      return runId;
    }),
  );
  const replays = await Promise.all(runs.map(async (runId) => (await app.attach(runId)).rest()));
  expect(replays.map(textOf)).toEqual(runs.map(() => WORDS.join('')));
  expect(replays.flatMap((events) => numberingFlaws(events))).toEqual([]);
});

test('a reader that stops reading holds up neither the run nor a reader beside it, and misses nothing', async () => {
  const chunk = 'x'.repeat(8_192);
  // Two thousand chunks of 8 KB: far more than the sockets in between can hold.
  const count = 2_000;
  app.double.answer({ text: Array.from({ length: count }, () => chunk) });
  const { runId, reader } = await app.start('A lot, please');
  const stopped = await stoppedReader(app.url, runId);
  const events = await reader.rest();
  expect(textOf(events)).toHaveLength(count * chunk.length);
  expect(await app.listed(runId)).toMatchObject({ status: 'done' });
  expect(stopped.bytesRead).toBeLessThan(count * chunk.length);

  const all = await restOf(stopped);
  const numbers = [...all.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  expect(numbers.length).toBe(events.length - 1);
  expect(all).toContain('event: close\n');
});

/** A client that asks for a run and then reads nothing. */
async function stoppedReader(url: string, runId: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.pause();
  socket.write(
    `GET /api/agent/chat/stream/attach?run_id=${runId} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`,
  );
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return socket;
}

/** The body that it was sent, without the framing of HTTP. */
async function restOf(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  const bytes = Buffer.concat(parts);
  const body: Buffer[] = [];
  let at = bytes.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const end = bytes.indexOf('\r\n', at);
    const length = Number.parseInt(bytes.toString('latin1', at, end), 16);
    if (!(length > 0)) return Buffer.concat(body).toString();
    body.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
}
