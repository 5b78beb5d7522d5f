// Provider double: a real HTTP server on 127.0.0.1 that answers as language-model providers do, from a script.
// It speaks chat-completions (POST /v1/chat/completions, streaming and blocking; GET /v1/models), its embeddings (POST
// /v1/embeddings), the aggregator's transcriptions (POST /v1/audio/transcriptions) and the messages API (POST /v1/messages, streaming; GET /v1/models with an `anthropic-version` header).
//
//   const double = await startProviderDouble({ script: { text: 'Hello' } });
//   … base_url: double.baseUrl … double.requests … await double.stop();
//
// For load and crash tests, `startProviderDoubleProcess` runs the same server in a process of its own.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { anthropicError, anthropicModels, anthropicSteps } from './provider-double-anthropic.ts';
import {
  openaiAnswer,
  openaiEmbeddings,
  openaiError,
  openaiModels,
  openaiSteps,
} from './provider-double-openai.ts';
import { play } from './provider-double-player.ts';
import {
  type CompletionBody,
  type DoubleRequest,
  type ModelsScript,
  type Reply,
  replier,
  type Script,
} from './provider-double-script.ts';

export type { DoubleRequest, Script } from './provider-double-script.ts';

export interface ProviderDoubleOptions {
  readonly script: Script;
  /** One model, `double-1`, when absent. */
  readonly models?: ModelsScript;
  /** A free port when absent; a given one lets a test bring a provider back where it was. */
  readonly port?: number;
  /** How many requests are kept for `requests`; load tests keep none. */
  readonly requestsKeptMax?: number;
}

export interface ProviderDouble {
  /** Ends in /v1; fits either API. */
  readonly baseUrl: string;
  readonly port: number;
  /** Completions that were asked for, oldest first; model listings are in `listings`. */
  readonly requests: readonly DoubleRequest[];
  readonly listings: readonly DoubleRequest[];
  /** Completions asked for since the start, kept or not. */
  readonly requestCount: number;
  /** Responses that have not ended. */
  readonly openCount: number;
  /** The completion of that number, counted from 0, when it has come. */
  received(index: number): Promise<DoubleRequest>;
  /** The listing of that number, likewise. */
  listed(index: number): Promise<DoubleRequest>;
  /** Replaces the script for the requests to come. */
  answer(script: Script): void;
  /** Lifts every stall and silence, those to come included. */
  release(): void;
  /** Cuts what is open and closes the port. */
  stop(): Promise<void>;
}

interface Waiter {
  readonly index: number;
  readonly resolve: (request: DoubleRequest) => void;
}

export async function startProviderDouble(options: ProviderDoubleOptions): Promise<ProviderDouble> {
  let reply = replier(options.script);
  const models = options.models ?? { list: ['double-1'] };
  const requests: DoubleRequest[] = [];
  const listings: DoubleRequest[] = [];
  const awaited: Waiter[] = [];
  const awaitedListings: Waiter[] = [];
  const keptMax = options.requestsKeptMax ?? 10_000;
  const release = Promise.withResolvers<void>();
  let requestCount = 0;
  let openCount = 0;

  const server = createServer((incoming, response) => {
    openCount += 1;
    response.once('close', () => {
      openCount -= 1;
    });
    void serve(incoming, response).catch((error: unknown) => {
      response.destroy();
      // Who left in the middle of the request: a cancel, or a thread that is lost.
      if (!incoming.complete) return;
      // A bug of the double or of a script function: loud, and not the code under test's fault.
      process.nextTick(() => {
        throw error;
      });
    });
  });
  server.keepAliveTimeout = 60_000;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '').split('?')[0] ?? '';
    const api = path.endsWith('/messages') || incoming.headers['anthropic-version'] ? 'anthropic' : 'openai';
    const ended = Promise.withResolvers<'sent' | 'client_left' | 'cut'>();
    response.once('close', () => ended.resolve(response.writableFinished ? 'sent' : 'client_left'));
    const body = await readJson(incoming);
    if (response.destroyed) return;
    const request: DoubleRequest = {
      api,
      method: incoming.method ?? 'GET',
      path,
      headers: incoming.headers,
      clientPort: incoming.socket.remotePort ?? 0,
      body,
      ended: ended.promise,
    };
    if (request.method === 'GET' && path.endsWith('/models')) {
      listings.push(request);
      for (const waiter of awaitedListings) if (waiter.index === listings.length - 1) waiter.resolve(request);
      if (models.silent) await release.promise;
      const status = models.status ?? 200;
      const list = api === 'openai' ? openaiModels(models.list) : anthropicModels(models.list);
      return sendJson(
        response,
        status,
        status === 200 ? list : errorBody(request, status, 'scripted failure'),
      );
    }
    if (
      request.method !== 'POST' ||
      !/\/(chat\/completions|embeddings|messages|audio\/transcriptions)$/.test(path)
    ) {
      return sendJson(response, 404, errorBody(request, 404, `no such route: ${request.method} ${path}`));
    }
    const index = requestCount;
    requestCount += 1;
    if (requests.length < keptMax) requests.push(request);
    for (const waiter of awaited) if (waiter.index === index) waiter.resolve(request);
    await complete(request, response, await reply(request), () => ended.resolve('cut'));
  }

  async function complete(
    request: DoubleRequest,
    response: ServerResponse,
    answer: Reply,
    onCut: () => void,
  ): Promise<void> {
    const { fault } = answer;
    if (fault?.kind === 'status') {
      const text = fault.message ?? `scripted ${fault.status}`;
      return sendJson(
        response,
        fault.status,
        errorBody(request, fault.status, text, fault.code),
        fault.headers,
      );
    }
    if (fault?.kind === 'silence') await release.promise;
    if (response.destroyed) return;
    if (request.path.endsWith('/embeddings'))
      return sendJson(response, 200, answer.embeddings ?? openaiEmbeddings(request.body));
    if (request.path.endsWith('/audio/transcriptions'))
      return sendJson(response, 200, { text: answer.transcript ?? '', usage: { seconds: 3, cost: 0.0125 } });
    if (request.body.stream !== true || answer.blocking)
      return sendJson(response, 200, openaiAnswer(answer, request.body));
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.flushHeaders();
    const steps =
      request.api === 'openai' ? openaiSteps(answer, request.body) : anthropicSteps(answer, request.body);
    play({
      response,
      steps,
      cutEveryBytes: answer.cutEveryBytes ?? null,
      released: () => release.promise,
      onCut,
    });
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', 4_096, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    port,
    requests,
    listings,
    get requestCount() {
      return requestCount;
    },
    get openCount() {
      return openCount;
    },
    async received(index) {
      const there = requests[index];
      if (there !== undefined) return there;
      return new Promise((resolve) => awaited.push({ index, resolve }));
    },
    async listed(index) {
      const there = listings[index];
      if (there !== undefined) return there;
      return new Promise((resolve) => awaitedListings.push({ index, resolve }));
    },
    answer(script) {
      reply = replier(script);
    },
    release: () => release.resolve(),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function readJson(incoming: IncomingMessage): Promise<CompletionBody> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return parts.length === 0 ? {} : (JSON.parse(Buffer.concat(parts).toString()) as CompletionBody);
}

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

function errorBody(
  request: DoubleRequest,
  status: number,
  message: string,
  code: string | null = null,
): object {
  return request.api === 'openai' ? openaiError(status, message, code) : anthropicError(status, message);
}
