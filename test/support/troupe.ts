// Troupe for tests: the whole service in this process, on a temporary data folder, with a provider double behind LM Studio's
// place. `await using app = await openTroupe({ script })`.

import { createTroupe, type Troupe, type TroupeOptions } from '../../src/troupe.ts';
import { type ProviderDouble, type ProviderDoubleOptions, startProviderDouble } from './provider-double.ts';
import { openSse, type SseReader } from './sse-reader.ts';
import { temporaryFolder } from './storage.ts';

export const DOUBLE_MODEL = 'lmstudio:double-1';

export interface TestTroupe extends AsyncDisposable {
  readonly troupe: Troupe;
  readonly url: string;
  readonly double: ProviderDouble;
  readonly dataDir: string;
  /** Asks and parses; `status` is the HTTP one. */
  // biome-ignore lint/suspicious/noExplicitAny: each route has its own reply; tests say what they expect.
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: any; headers: Headers }>;
  /** Starts a turn and reads its stream. */
  chat(request: { message: string } & Readonly<Record<string, unknown>>): Promise<SseReader>;
  attach(runId: string, options?: { after?: number; lastEventId?: number }): Promise<SseReader>;
  /** The transcript, once it is there. */
  messages(conversationId: string): Promise<readonly { role: string; content: string; metadata?: Record<string, unknown> }[]>;
  /** Stops the service and starts it again on the same folder, under a new URL. */
  restart(): Promise<void>;
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
    createTroupe({ dataDir: folder.directory, port: 0, logLevel: 'silent', environment, ...options.service });
  let troupe = await start();

  const app: TestTroupe = {
    get troupe() {
      return troupe;
    },
    get url() {
      return troupe.url as string;
    },
    double,
    dataDir: folder.directory,
    async call(method, path, body) {
      const response = await fetch(app.url + path, {
        method,
        ...(body === undefined
          ? {}
          : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text), headers: response.headers };
    },
    chat: (request) =>
      openSse(`${app.url}/api/agent/chat/stream`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: options.offline ? undefined : DOUBLE_MODEL, ...request }),
      }),
    attach: (runId, { after, lastEventId } = {}) =>
      openSse(
        `${app.url}/api/agent/chat/stream/attach?run_id=${runId}${after === undefined ? '' : `&after=${after}`}`,
        lastEventId === undefined ? {} : { headers: { 'last-event-id': String(lastEventId) } },
      ),
    async messages(conversationId) {
      const { status, body } = await app.call('GET', `/api/conversations/${conversationId}/messages`);
      if (status !== 200) throw new Error(`no transcript: ${status} ${JSON.stringify(body)}`);
      return body.messages;
    },
    async restart() {
      await troupe.stop();
      troupe = await start();
    },
    async [Symbol.asyncDispose]() {
      await troupe.stop();
      await double.stop();
      await folder[Symbol.asyncDispose]();
    },
  };
  return app;
}
