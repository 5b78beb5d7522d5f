// Troupe for tests: the whole service in this process, on a temporary data folder, with a provider double behind LM Studio's
// place. `await using app = await openTroupe({ script })`, or one for a whole file: `const app = await openTroupe()` at its
// top and `afterAll(() => app.close())`, with `app.double.answer(…)` in each test.

import { createTroupe, type Troupe, type TroupeOptions } from '../../src/troupe.ts';
import { type ProviderDouble, type ProviderDoubleOptions, startProviderDouble } from './provider-double.ts';
import { openSse, type ReadEvent, type SseReader } from './sse-reader.ts';
import { temporaryFolder } from './storage.ts';

export const DOUBLE_MODEL = 'lmstudio:double-1';

export type ChatOptions = Readonly<Record<string, unknown>>;

export interface HttpAnswer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: each route has its own reply; tests say what they expect.
  readonly body: any;
  readonly headers: Headers;
}

/** A row of a transcript as the route shows it. */
export interface Row {
  readonly role: string;
  readonly content: string;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly metadata?: any;
}

/** A turn that is over. */
export interface Turn {
  readonly runId: string;
  readonly sessionId: string;
  /** All events but `run_started`: the ones that are stored. */
  readonly events: readonly ReadEvent[];
}

/** What tests ask of a service, wherever it runs. */
export interface ServiceClient {
  readonly url: string;
  call(method: string, path: string, body?: unknown): Promise<HttpAnswer>;
  /** Starts a turn and reads its stream. */
  chat(message: string, options?: ChatOptions): Promise<SseReader>;
  /** Starts a turn; answers its stream as far as `run_started`, and its id. */
  start(
    message: string,
    options?: ChatOptions,
  ): Promise<{ readonly runId: string; readonly reader: SseReader }>;
  /** Runs a turn to its end. */
  turn(message: string, options?: ChatOptions): Promise<Turn>;
  attach(runId: string, options?: { after?: number; lastEventId?: number }): Promise<SseReader>;
  cancel(runId: string): Promise<HttpAnswer>;
  steer(runId: string, message: string): Promise<HttpAnswer>;
  /** The entry of a run in the list; undefined when it is not listed. */
  listed(runId: string): Promise<{ readonly status: string; readonly session_id: string | null } | undefined>;
  /** The transcript. @throws when there is none */
  messages(conversationId: string): Promise<readonly Row[]>;
}

export interface TestTroupe extends ServiceClient, AsyncDisposable {
  readonly troupe: Troupe;
  readonly double: ProviderDouble;
  readonly dataDir: string;
  /** Changes settings, as a client does: `{ chat: { max_tool_rounds: 2 } }`. */
  configure(settings: Readonly<Record<string, unknown>>): Promise<void>;
  /** Stops the service and starts it again on the same folder, under a new URL. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

export interface TestTroupeOptions extends Partial<ProviderDoubleOptions> {
  /** Without a provider the offline responder answers. */
  readonly offline?: boolean;
  readonly service?: Partial<TroupeOptions>;
}

export async function openTroupe(options: TestTroupeOptions = {}): Promise<TestTroupe> {
  const folder = await temporaryFolder();
  const double = await startProviderDouble({ script: { text: 'Hello from the double.' }, ...options });
  const environment = options.offline ? {} : { LMSTUDIO_BASE_URL: double.baseUrl };
  const start = (): Promise<Troupe> =>
    createTroupe({
      dataDir: folder.directory,
      port: 0,
      logLevel: 'silent',
      environment,
      ...options.service,
    });
  let troupe = await start();
  const client = serviceClient(() => troupe.url as string, options.offline ? {} : { model: DOUBLE_MODEL });
  const close = async (): Promise<void> => {
    await troupe.stop();
    await double.stop();
    await folder[Symbol.asyncDispose]();
  };
  return {
    ...client,
    get url() {
      return client.url;
    },
    get troupe() {
      return troupe;
    },
    double,
    dataDir: folder.directory,
    async configure(settings) {
      const { status, body } = await client.call('POST', '/api/config/update', settings);
      if (status !== 200) throw new Error(`not configured: ${status} ${JSON.stringify(body)}`);
    },
    async restart() {
      await troupe.stop();
      troupe = await start();
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A client of a service at a URL that may change; `defaults` are part of every turn. */
export function serviceClient(urlNow: () => string, defaults: ChatOptions = {}): ServiceClient {
  const client: ServiceClient = {
    get url() {
      return urlNow();
    },
    async call(method, path, body) {
      const response = await fetch(urlNow() + path, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return {
        status: response.status,
        body: text === '' ? null : JSON.parse(text),
        headers: response.headers,
      };
    },
    chat: (message, options) =>
      openSse(`${urlNow()}/api/agent/chat/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...defaults, message, ...options }),
      }),
    async start(message, options) {
      const reader = await client.chat(message, options);
      const { data } = await reader.until('run_started');
      return { runId: data.run_id, reader };
    },
    async turn(message, options) {
      const { runId, reader } = await client.start(message, options);
      const [, ...events] = await reader.rest();
      const named = events.find(({ event }) => event === 'start');
      return { runId, sessionId: named?.data.session_id ?? '', events };
    },
    attach: (runId, { after, lastEventId } = {}) =>
      openSse(
        `${urlNow()}/api/agent/chat/stream/attach?run_id=${runId}${after === undefined ? '' : `&after=${after}`}`,
        lastEventId === undefined ? {} : { headers: { 'last-event-id': String(lastEventId) } },
      ),
    cancel: (runId) => client.call('POST', `/api/agent/chat/runs/${runId}/cancel`),
    steer: (runId, message) => client.call('POST', `/api/agent/chat/runs/${runId}/steer`, { message }),
    async listed(runId) {
      const { body } = await client.call('GET', '/api/agent/chat/runs');
      return body.runs.find((run: { readonly run_id: string }) => run.run_id === runId);
    },
    async messages(conversationId) {
      const path = `/api/conversations/${encodeURIComponent(conversationId)}/messages`;
      const { status, body } = await client.call('GET', path);
      if (status !== 200) throw new Error(`no transcript: ${status} ${JSON.stringify(body)}`);
      return body.messages;
    },
  };
  return client;
}
