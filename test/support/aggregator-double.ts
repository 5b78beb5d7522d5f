// Aggregator double: a real HTTP server on 127.0.0.1 that answers as the aggregator does beside its models: consent and keys,
// account, catalog, endpoints, generations.
//
//   const double = await startAggregatorDouble();
//   … providers.openrouter.base_url: double.baseUrl … double.consent(authorization_url) … await double.stop();

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AggregatorRequest {
  readonly method: string;
  /** Below the base URL, with the query. */
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: unknown;
}

/** What is answered instead of the usual: a status, or a body of any kind. */
export type Answer = { readonly status: number } | { readonly text: string };

export interface AggregatorDouble {
  /** Ends in /api/v1. */
  readonly baseUrl: string;
  readonly site: string;
  readonly requests: readonly AggregatorRequest[];
  /** Keys minted so far, oldest first; they are all accepted. */
  readonly minted: readonly string[];
  requestsTo(path: string): readonly AggregatorRequest[];
  /** The owner of the account consents: the address that the browser is sent back to. */
  consent(authorizationUrl: string): string;
  /** Accepts a key that it has not minted. */
  accept(key: string): void;
  /** Replaces the catalog. */
  list(ids: readonly string[]): void;
  /** Answers requests to a path with something else; null: as usual again. */
  answer(path: string, answer: Answer | null): void;
  /** Keeps requests to a path waiting; resolves `arrived` when one has come. */
  hold(path: string): { readonly arrived: Promise<void>; readonly release: () => void };
  stop(): Promise<void>;
}

interface Hold {
  readonly arrived: () => void;
  readonly released: Promise<void>;
}

export async function startAggregatorDouble(): Promise<AggregatorDouble> {
  const requests: AggregatorRequest[] = [];
  const minted: string[] = [];
  const accepted = new Set<string>();
  const challenges = new Map<string, string>();
  const answers = new Map<string, Answer>();
  const holds = new Map<string, Hold>();
  let models: readonly string[] = ['openai/gpt-4o'];

  const server = createServer((incoming, response) => {
    void serve(incoming, response).catch((error: unknown) => {
      response.destroy();
      if (!incoming.complete) return; // Who left in the middle of the request.
      process.nextTick(() => {
        throw error;
      });
    });
  });

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? '').replace(/^\/api\/v1/, '');
    const body = await bodyOf(incoming);
    const { method = 'GET' } = incoming;
    requests.push({ method, path, authorization: incoming.headers.authorization, body });
    const bare = path.split('?', 1)[0] ?? path;
    const hold = holds.get(bare);
    hold?.arrived();
    await hold?.released;
    const answer = answers.get(bare);
    if (answer !== undefined && 'text' in answer) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(answer.text);
      return;
    }
    const [status, reply] = answer === undefined ? replyTo(bare, path, body, incoming) : [answer.status, {}];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply));
  }

  function replyTo(
    path: string,
    full: string,
    body: unknown,
    { headers }: IncomingMessage,
  ): [number, object] {
    if (path === '/auth/keys') return exchange(body as Record<string, string>);
    if (path === '/models') return [200, { data: models.map((id) => ({ id, name: id })) }];
    if (/^\/models\/.+\/endpoints$/.test(path)) return endpointsOf(path);
    const key = headers.authorization?.replace('Bearer ', '') ?? '';
    if (!accepted.has(key)) return [401, { error: { message: `No auth credentials found: ${key}` } }];
    if (path === '/key') return [200, { data: KEY }];
    if (path === '/credits') return [200, { data: { total_credits: 25, total_usage: 4.5 } }];
    if (path === '/generation' && full.endsWith('?id=gen-1')) return [200, { data: GENERATION }];
    return [404, { error: { message: `no such record: ${full}` } }];
  }

  function exchange({
    code = '',
    code_verifier = '',
    code_challenge_method,
  }: Record<string, string>): [number, object] {
    const challenge = challenges.get(code);
    challenges.delete(code);
    const proof = createHash('sha256').update(code_verifier).digest('base64url');
    if (code_challenge_method !== 'S256' || challenge !== proof) {
      return [403, { error: { message: 'Invalid code or code_verifier' } }];
    }
    const key = `sk-or-v1-minted-${minted.length + 1}-${proof.slice(0, 16)}`;
    minted.push(key);
    accepted.add(key);
    return [200, { key, user_id: 'user_1' }];
  }

  function endpointsOf(path: string): [number, object] {
    const id = path.slice('/models/'.length, -'/endpoints'.length);
    if (!models.includes(id)) return [404, { error: { message: 'Model not found' } }];
    return [200, { data: { id, endpoints: [ENDPOINT] } }];
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const site = `http://127.0.0.1:${port}`;
  return {
    site,
    baseUrl: `${site}/api/v1`,
    requests,
    minted,
    requestsTo: (path) => requests.filter((request) => request.path.split('?', 1)[0] === path),
    consent(authorizationUrl) {
      const url = new URL(authorizationUrl);
      const code = `code-${challenges.size + minted.length + 1}`;
      challenges.set(code, url.searchParams.get('code_challenge') ?? '');
      return `${url.searchParams.get('callback_url')}?code=${code}`;
    },
    accept: (key) => void accepted.add(key),
    list(ids) {
      models = ids;
    },
    answer(path, answer) {
      if (answer === null) answers.delete(path);
      else answers.set(path, answer);
    },
    hold(path) {
      const arrived = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      holds.set(path, { arrived: arrived.resolve, released: released.promise });
      return { arrived: arrived.promise, release: released.resolve };
    },
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

const KEY = {
  label: 'sk-or-v1-abc...xyz',
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  usage: 4.5,
  usage_daily: 0.25,
  usage_weekly: 1,
  usage_monthly: 3.5,
  is_free_tier: false,
  expires_at: null,
};

export const ENDPOINT = {
  name: 'Double | openai/gpt-4o',
  context_length: 64_000,
  max_completion_tokens: 16_384,
  quantization: 'fp8',
  pricing: { prompt: '0.0000025', completion: '0.00001' },
};

export const GENERATION = {
  id: 'gen-1',
  total_cost: 0.0015,
  native_tokens_cached: 120,
  provider_name: 'Double',
};

async function bodyOf(incoming: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return parts.length === 0 ? null : JSON.parse(Buffer.concat(parts).toString());
}
