import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bindOpening, bindStream } from '../../src/http/route.ts';
import { HEARTBEAT_MS, STALL_MAX_MS } from '../../src/http/sse.ts';
import type { SseFrame } from '../../src/http/sse-framing.ts';
import { Fault } from '../../src/std/errors.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol, stream } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge, rawConnection, recordedLog } from './edge.ts';
import { ManualClock } from './manual-clock.ts';

const Frames = Type.Unsafe<readonly SseFrame[]>(Type.Array(Type.Unknown()));
const probe = protocol('probe', {
  start: call({
    request: Type.Object({ text: Type.String() }),
    reply: Type.Object({ run_id: Type.String() }),
  }),
  tail: stream({
    request: Type.Object({
      run_id: Type.String({ minLength: 1 }),
      after: Type.Optional(Type.Integer({ minimum: 0, default: 0 })),
    }),
    reply: Frames,
  }),
});

const bindings = [
  bindStream('GET', '/api/attach', probe, 'tail', { cursor: 'after' }),
  bindOpening('POST', '/api/stream', probe, 'start', {
    tail: 'tail',
    follow: ({ run_id }) => ({ run_id, after: 0 }),
    first: ({ run_id }) => [{ event: 'run_started', data: JSON.stringify({ run_id }) }],
  }),
];

type TailHandler = (
  message: { readonly run_id: string; readonly after?: number },
  inquiry: { readonly signal: AbortSignal },
) => AsyncIterable<readonly SseFrame[]>;

const door = (tail: TailHandler) =>
  new ActorDoorDouble().seat(probe, { start: () => ({ run_id: 'r1' }), tail });
const chunk = (seq: number, content = 'word'): SseFrame => ({
  seq,
  event: 'chunk',
  data: JSON.stringify({ content }),
});
const ATTACH = 'GET /api/attach?run_id=r1 HTTP/1.1\r\nHost: x\r\n\r\n';

/** A producer that the test feeds batch by batch. */
function fedProducer() {
  const waiting: ((result: IteratorResult<readonly SseFrame[]>) => void)[] = [];
  const stopped = Promise.withResolvers<void>();
  let asked = Promise.withResolvers<void>();
  return {
    stopped: stopped.promise,
    /** Hands out a batch once somebody asks for it. */
    async feed(...batch: SseFrame[]): Promise<void> {
      await this.pulled();
      asked = Promise.withResolvers();
      waiting.shift()?.({ done: false, value: batch });
    },
    async end(): Promise<void> {
      await this.pulled();
      waiting.shift()?.({ done: true, value: undefined });
    },
    pulled: () => asked.promise,
    tail: () => {
      const batches: AsyncIterableIterator<readonly SseFrame[]> = {
        [Symbol.asyncIterator]: () => batches,
        next: () =>
          new Promise((resolve) => {
            waiting.push(resolve);
            asked.resolve();
          }),
        return: async () => {
          stopped.resolve();
          return { done: true, value: undefined };
        },
      };
      return batches;
    },
  };
}

/** The next bytes of a connection, without the framing of HTTP, up to and with this text. */
async function readUntil(socket: Socket, text: string): Promise<string> {
  let read = '';
  while (!read.includes(text)) {
    const bytes: Buffer | null = socket.read();
    if (bytes !== null) read += bytes.toString('utf8');
    else await new Promise((resolve) => socket.once('readable', resolve));
  }
  return read;
}

/** All bytes of a connection until its server ends it. */
async function readToEnd(socket: Socket): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of socket) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

describe('the bytes of an event stream', () => {
  test('are id, event and data on a line each, in one chunk a batch, with the headers of the wire format', async () => {
    async function* tail() {
      yield [chunk(1, 'Grüße'), chunk(2, '"quoted"\n')];
      yield [{ event: 'close', data: '{}' }];
    }
    const { url } = await openEdge(door(tail), bindings);
    const response = await fetch(`${url}/api/attach?run_id=r1`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(await response.text()).toBe(
      'id: 1\nevent: chunk\ndata: {"content":"Grüße"}\n\n' +
        'id: 2\nevent: chunk\ndata: {"content":"\\"quoted\\"\\n"}\n\n' +
        'event: close\ndata: {}\n\n',
    );
  });

  test.each([
    ['1.1', '13\r\nevent: é\ndata: 1\n\n\r\n' + '10\r\nid: 2\ndata: ab\n\n\r\n' + '0\r\n\r\n'],
    ['1.0', 'event: é\ndata: 1\n\n' + 'id: 2\ndata: ab\n\n'],
  ])('are framed as a reader of HTTP/%s knows them', async (version, expected) => {
    async function* tail() {
      yield [{ event: 'é', data: '1' }];
      yield [{ seq: 2, data: 'ab' }];
    }
    const { port } = await openEdge(door(tail), bindings);
    const socket = await rawConnection(
      port,
      `GET /api/attach?run_id=r1 HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    const [head, ...body] = (await readToEnd(socket)).split('\r\n\r\n');
    expect(head).toContain('HTTP/1.1 200');
    expect(body.join('\r\n\r\n')).toBe(expected);
  });

  test('come behind those of the stream that was asked for before it on the same connection', async () => {
    const first = fedProducer();
    const { port } = await openEdge(
      door(({ run_id }) =>
        run_id === 'r1'
          ? first.tail()
          : (async function* () {
              yield [chunk(7)];
            })(),
      ),
      bindings,
    );
    const socket = await rawConnection(
      port,
      `${ATTACH}GET /api/attach?run_id=r2 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    );
    const text = readToEnd(socket);
    await first.feed(chunk(1));
    await first.feed(chunk(2));
    await first.end();
    expect((await text).match(/id: \d+|HTTP\/1.1 \d+|^0$/gm)).toEqual([
      'HTTP/1.1 200',
      'id: 1',
      'id: 2',
      '0',
      'HTTP/1.1 200',
      'id: 7',
      '0',
    ]);
  });

  test('begin with the frames of the call that opened it', async () => {
    async function* tail({ run_id }: { readonly run_id: string }) {
      yield [{ seq: 1, event: 'start', data: JSON.stringify({ run_id }) }];
    }
    const { send } = await openEdge(door(tail), bindings);
    expect((await send('POST', '/api/stream', { text: 'hello' })).body).toBe(
      'event: run_started\ndata: {"run_id":"r1"}\n\nid: 1\nevent: start\ndata: {"run_id":"r1"}\n\n',
    );
  });

  test('carry CORS headers for a page that may read them', async () => {
    async function* tail() {
      yield [chunk(1)];
    }
    const { send } = await openEdge(door(tail), bindings);
    const { headers } = await send('GET', '/api/attach?run_id=r1', undefined, {
      origin: 'tauri://localhost',
    });
    expect(headers.get('access-control-allow-origin')).toBe('tauri://localhost');
    expect(headers.get('access-control-allow-credentials')).toBe('true');
  });
});

describe('the cursor of a reader', () => {
  const bound = async () => {
    async function* tail({ after }: { readonly after?: number }) {
      yield [chunk((after ?? 0) + 1)];
    }
    return openEdge(door(tail), bindings);
  };
  const idIn = (body: string) => /^id: (\d+)/.exec(body)?.[1];

  test.each([
    ['', {}, '1'],
    ['&after=7', {}, '8'],
    ['', { 'last-event-id': '41' }, '42'],
    ['&after=7', { 'last-event-id': '41' }, '42'],
  ])('is the query%s and the headers %j', async (query, headers: Record<string, string>, id) => {
    const { send } = await bound();
    expect(idIn((await send('GET', `/api/attach?run_id=r1${query}`, undefined, headers)).body)).toBe(id);
  });

  test('that is not a number is refused', async () => {
    const { send } = await bound();
    const refused = await send('GET', '/api/attach?run_id=r1', undefined, { 'last-event-id': 'last' });
    expect(refused).toMatchObject({ status: 400, body: { error: 'last-event-id must be an integer' } });
  });
});

describe('a stream that fails', () => {
  test('in the request answers as any other request', async () => {
    const { send } = await openEdge(door(fedProducer().tail), bindings);
    expect(await send('GET', '/api/attach')).toMatchObject({
      status: 400,
      body: { error: 'run_id required' },
    });
    expect(await send('HEAD', '/api/attach?run_id=r1')).toMatchObject({ status: 405 });
  });

  test('before its first batch answers as any other request', async () => {
    // biome-ignore lint/correctness/useYield: it fails before it yields.
    async function* tail(): AsyncGenerator<readonly SseFrame[]> {
      throw new Fault('run_not_found', 'not_found', 'No such run.');
    }
    const { send } = await openEdge(door(tail), bindings);
    const { status, body, headers } = await send('GET', '/api/attach?run_id=r1');
    expect([status, body]).toEqual([404, { error: 'No such run.' }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  });

  test('in the call that opens it answers as any other request', async () => {
    const refusing = new ActorDoorDouble().seat(probe, {
      start: () => {
        throw new Fault('mailbox_full', 'unavailable', 'Too many runs.');
      },
    });
    const { send } = await openEdge(refusing, bindings);
    const { status, body, headers } = await send('POST', '/api/stream', { text: 'hello' });
    expect([status, body, headers.get('retry-after')]).toEqual([503, { error: 'Too many runs.' }, '1']);
  });

  test.each([
    [new Fault('run_lost', 'unavailable', 'The run was lost.'), 'The run was lost.', 0],
    [new Error('password=hunter2'), 'Internal error', 1],
  ])('later says so in a last event: %s', async (error, sentence, errorLines) => {
    async function* tail() {
      yield [chunk(1)];
      throw error;
    }
    const { log, lines } = recordedLog();
    const { send } = await openEdge(door(tail), bindings, { log });
    const { status, body } = await send('GET', '/api/attach?run_id=r1');
    expect(status).toBe(200);
    expect(body).toBe(
      `id: 1\nevent: chunk\ndata: {"content":"word"}\n\nevent: error\ndata: ${JSON.stringify({ error: sentence })}\n\n`,
    );
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(errorLines);
  });
});

describe('a silent stream', () => {
  test('opens at once when its producer has accepted it without a word', async () => {
    const producer = fedProducer();
    const { url } = await openEdge(door(producer.tail), bindings);
    const response = fetch(`${url}/api/attach?run_id=r1`);
    await producer.feed();
    expect((await response).status).toBe(200);
    await (await response).body?.cancel();
  });

  test('opens after a heartbeat when its producer says nothing at all', async () => {
    const clock = new ManualClock();
    const producer = fedProducer();
    const { port } = await openEdge(door(producer.tail), bindings, { clock });
    const reader = await rawConnection(port, ATTACH);
    await producer.pulled();
    clock.advance(HEARTBEAT_MS);
    expect(await readUntil(reader, ': ping\n\n')).toMatch(/^HTTP\/1.1 200 OK\r\n/);
  });

  test('is kept open by a comment after each ten seconds without an event', async () => {
    const clock = new ManualClock();
    const producer = fedProducer();
    const { port } = await openEdge(door(producer.tail), bindings, { clock });
    const reader = await rawConnection(port, ATTACH);
    await producer.feed(chunk(1));
    await readUntil(reader, 'id: 1');
    clock.advance(6_000);
    await producer.feed(chunk(2));
    await producer.pulled();
    clock.advance(9_999);
    await producer.feed(chunk(3));
    await producer.pulled();
    clock.advance(10_000);
    clock.advance(10_000);
    await producer.feed(chunk(4));
    const text = await readUntil(reader, 'id: 4');
    expect(text.match(/id: \d|: ping\n\n/g)).toEqual(['id: 2', 'id: 3', ': ping\n\n', ': ping\n\n', 'id: 4']);
  });
});

describe('a reader that leaves', () => {
  test('stops its producer, which waits for something to say, and leaves no timer', async () => {
    const clock = new ManualClock();
    const producer = fedProducer();
    const aborted = Promise.withResolvers<void>();
    const { port } = await openEdge(
      door((_message, { signal }) => {
        signal.addEventListener('abort', () => aborted.resolve());
        return producer.tail();
      }),
      bindings,
      { clock },
    );
    const reader = await rawConnection(port, ATTACH);
    await producer.feed(chunk(1));
    await readUntil(reader, 'id: 1');
    reader.destroy();
    await Promise.all([producer.stopped, aborted.promise]);
    expect(clock.timerCount).toBe(0);
  });

  test('does not stop what it had started', async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const answer = Promise.withResolvers<{ run_id: string }>();
    const producer = fedProducer();
    const starting = new ActorDoorDouble().seat(probe, {
      start: (_message, { signal }) => {
        asked.resolve(signal);
        return answer.promise;
      },
      tail: producer.tail,
    });
    const { log, lines } = recordedLog();
    const { port } = await openEdge(starting, bindings, { log });
    const body = '{"text":"hello"}';
    const reader = await rawConnection(
      port,
      `POST /api/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const signal = await asked.promise;
    reader.destroy();
    await new Promise((resolve) => reader.once('close', resolve));
    answer.resolve({ run_id: 'r1' });
    await producer.stopped;
    expect(signal.aborted).toBe(false);
    await expect.poll(() => lines.map(({ fields }) => fields.ending)).toContain('reader_left');
  });
});

describe('a reader that stops reading', () => {
  const BATCH_BYTES = 64 * 1024;
  const padding = 'x'.repeat(BATCH_BYTES - 100);
  /** What a loopback connection may hold in the kernel on both sides, in batches, and then some. */
  const BATCHES_IN_FLIGHT_MAX = 300;

  test('holds its producer back, costs no more than a batch, and slows nobody', async () => {
    const pulled = { slow: 0, fast: 0 };
    const { port, url } = await openEdge(
      door(async function* ({ run_id }) {
        const name = run_id as 'slow' | 'fast';
        while (pulled[name] < 1000) yield [chunk(++pulled[name], padding)];
      }),
      bindings,
    );
    const slow = await rawConnection(port, 'GET /api/attach?run_id=slow HTTP/1.1\r\nHost: x\r\n\r\n');
    slow.pause();
    const readAll = async () => {
      pulled.fast = 0;
      const response = await fetch(`${url}/api/attach?run_id=fast`);
      let bytes = 0;
      for await (const part of response.body as ReadableStream<Uint8Array>) bytes += part.length;
      return bytes;
    };
    expect(await readAll()).toBeGreaterThan(1000 * padding.length);
    expect(pulled.slow).toBeGreaterThan(0);
    await readAll();
    // The kernel may find room for a few more, and no more than it has.
    expect(pulled.slow).toBeLessThan(BATCHES_IN_FLIGHT_MAX);

    // It reads on, and has missed nothing.
    const ids: number[] = [];
    let rest = '';
    slow.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line.startsWith('id: ')) ids.push(Number(line.slice(4)));
    });
    slow.resume();
    await expect.poll(() => ids.length).toBe(1000);
    expect(ids).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
  });

  test('for too long is cut off, and its producer with it', async () => {
    const clock = new ManualClock();
    let pulls = 0;
    const stopped = Promise.withResolvers<void>();
    const { port } = await openEdge(
      door(async function* () {
        try {
          while (true) yield [chunk(++pulls, padding)];
        } finally {
          stopped.resolve();
        }
      }),
      bindings,
      { clock },
    );
    const reader = await rawConnection(port, ATTACH);
    reader.pause();
    // The stream's own timer and the one that waits for the reader.
    await expect.poll(() => clock.timerCount).toBe(2);
    clock.advance(STALL_MAX_MS);
    await stopped.promise;
    expect(clock.timerCount).toBe(0);
  });
});

test('a reader that stops before the end is cut off, though its stream is over', async () => {
  const accepted = Promise.withResolvers<Socket>();
  const onSocket = (message: unknown): void => accepted.resolve((message as { socket: Socket }).socket);
  subscribe('net.server.socket', onSocket);
  onTestFinished(() => void unsubscribe('net.server.socket', onSocket));
  const { port } = await openEdge(
    door(async function* () {
      const reader = await accepted.promise;
      // Until the reader's TCP takes no more; less is left than holds a producer back.
      while (reader.writableLength === 0) yield [chunk(1, 'x'.repeat(4_000))];
    }),
    bindings,
    { stallMaxMs: 200 },
  );
  (await rawConnection(port, ATTACH)).pause();
  const reader = await accepted.promise;
  await new Promise((resolve) => reader.once('close', resolve));
  expect(reader.bytesWritten).toBeGreaterThan(0);
});

test('closing the edge ends every stream and stops every producer', async () => {
  const producer = fedProducer();
  const { port, edge } = await openEdge(door(producer.tail), bindings);
  const reader = await rawConnection(port, ATTACH);
  await producer.feed(chunk(1));
  await readUntil(reader, 'id: 1');
  const ended = new Promise((resolve) => reader.resume().once('end', resolve));
  await edge.close();
  await Promise.all([ended, producer.stopped]);
});

test('one reader too many is told to come again', async () => {
  const producer = fedProducer();
  const { port, send } = await openEdge(door(producer.tail), bindings, { streamsOpenMax: 1 });
  const first = await rawConnection(port, ATTACH);
  await producer.feed(chunk(1));
  const { status, headers } = await send('GET', '/api/attach?run_id=r1');
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  first.destroy();
  await producer.stopped;
});
