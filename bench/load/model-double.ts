// ModelDouble: a provider that streams to ten thousand at once and does nothing else: chat completions of numbered tokens
// (token.ts), as many and as fast as the message asks. Leaner than the provider double of the tests, which knows every fault.
// A client that does not read is not written to: what its socket holds stays below SOCKET_BYTES_MAX.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Carousel } from './carousel.ts';
import { lastTokenText, tokenText } from './token.ts';

/** What the message of a turn asks for, as JSON. */
export interface Wish {
  /** Null: until `finish`, at the common rate. */
  readonly tokens: number | null;
  readonly perSecond: number;
}

export interface ModelDouble {
  readonly baseUrl: string;
  /** Of each stream that has no rate of its own. */
  setRate(perSecond: number): void;
  /** Ends those streams, so many a second. */
  finish(perSecond: number): void;
  readonly openCount: number;
  /** In all. */
  readonly tokensSent: number;
  stop(): Promise<void>;
}

interface Stream {
  readonly response: ServerResponse;
  readonly tokensMax: number;
  sent: number;
}

const TICK_MS = 4;
const SOCKET_BYTES_MAX = 64 * 1024;
const BACKLOG = 4_096;
const FRAME_HEAD =
  '{"id":"chatcmpl-double","object":"chat.completion.chunk","created":1700000000,"model":"steady","choices":[{"index":0,"delta":';

export async function startModelDouble(): Promise<ModelDouble> {
  let tokensSent = 0;
  let openCount = 0;
  let endings = 0;
  let endingsPerSecond = 0;

  const advance = (stream: Stream): boolean => {
    const { response, tokensMax } = stream;
    const socket = response.socket;
    if (socket === null || response.destroyed) return false;
    if (socket.writableLength > SOCKET_BYTES_MAX) return true;
    if (stream.sent >= tokensMax) {
      response.end(ending(stream.sent));
      return false;
    }
    const frame = contentFrame(tokenText(stream.sent));
    // The chunk of HTTP is framed here: one write, where `response.write` makes three of it.
    socket.write(`${frame.length.toString(16)}\r\n${frame}\r\n`, 'latin1');
    stream.sent += 1;
    tokensSent += 1;
    return true;
  };
  const steady = new Carousel<Stream>(0, (stream) => {
    if (endings < 1 || stream.response.destroyed) return advance(stream);
    endings -= 1;
    stream.response.end(ending(stream.sent));
    return false;
  });
  const paced = new Map<number, Carousel<Stream>>();
  const pacedAt = (perSecond: number): Carousel<Stream> => {
    const carousel = paced.get(perSecond) ?? new Carousel(perSecond, advance);
    paced.set(perSecond, carousel);
    return carousel;
  };

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of incoming) parts.push(part as Buffer);
    if (incoming.method === 'GET') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ object: 'list', data: [{ id: 'steady', object: 'model' }] }));
      return;
    }
    openCount += 1;
    response.once('close', () => {
      openCount -= 1;
    });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    const { tokens, perSecond } = wishOf(JSON.parse(Buffer.concat(parts).toString()));
    const stream: Stream = { response, tokensMax: tokens ?? Number.POSITIVE_INFINITY, sent: 0 };
    (tokens === null ? steady : pacedAt(perSecond)).add(stream);
  };
  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', BACKLOG, resolve));

  let turnedAtMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const elapsedMs = nowMs - turnedAtMs;
    turnedAtMs = nowMs;
    endings = Math.min(endings + (endingsPerSecond * elapsedMs) / 1000, steady.length);
    steady.turn(elapsedMs);
    for (const carousel of paced.values()) carousel.turn(elapsedMs);
  }, TICK_MS);

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    setRate(perSecond) {
      steady.perSecond = perSecond;
    },
    finish(perSecond) {
      endingsPerSecond = perSecond;
    },
    get openCount() {
      return openCount;
    },
    get tokensSent() {
      return tokensSent;
    },
    async stop() {
      clearInterval(timer);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function wishOf(body: { readonly messages?: readonly { readonly content?: unknown }[] }): Wish {
  return JSON.parse(String(body.messages?.at(-1)?.content)) as Wish;
}

function contentFrame(content: string): string {
  return `data: ${FRAME_HEAD}{"content":"${content}"},"finish_reason":null}]}\n\n`;
}

function ending(count: number): string {
  return `${contentFrame(lastTokenText(count))}data: ${FRAME_HEAD}{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
}
