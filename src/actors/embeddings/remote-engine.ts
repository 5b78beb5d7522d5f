// RemoteEngine: an endpoint that speaks OpenAI's `/embeddings`, as one of the providers that are configured.
// U1 What went wrong is told in our words: neither the provider's text nor its key gets any further.
// U2 Redirects are not followed: a key would go where nobody has sent it. The connection obeys the provider's egress policy.
// U3 Requests are bounded in number and size; a limit is waited for as the provider says, up to WAIT_MAX_MS, other passing
//    failures a few times. What it answers is checked: as many vectors, of one length, of numbers.
//    Where a request is refused and one of a single word is not, that is for its texts: too long for that model, mostly.
// U4 What an order used is entered in the usage ledger (expense.ts); not so the one word that a model is opened with.

import { Agent, request } from 'undici';
import { guardedConnector } from '../../egress/guard.ts';
import type { Clock } from '../../std/clock.ts';
import type { Fault } from '../../std/errors.ts';
import { sha256Hex } from '../../std/hashes.ts';
import type { Connection, Price } from '../providers/protocol.ts';
import type { Vectors } from './embedder-protocol.ts';
import type { EngineSource } from './engine-source.ts';
import type { Expense } from './expense.ts';
import type { Model } from './model.ts';
import { embeddingFaults } from './protocol.ts';
import { unitVectors } from './vectors.ts';

type RemoteSource = EngineSource & { readonly kind: 'remote' };

const REQUEST_TEXTS_MAX = 32;
const REQUEST_LENGTH_MAX = 200_000;
const REQUESTS_OPEN_MAX = 4;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const ATTEMPTS_MAX = 5;
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 60_000;
const CHARACTERS_PER_TOKEN = 4;
const WORD: readonly string[] = ['a'];
/** What is wrong with such a request may be wrong with its texts; some servers fail at a text that their model makes no numbers of. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422, 500]);
/** No request has as many tokens, or costs as much. */
const AMOUNT_MAX = 1e7;

export interface RemoteTools {
  readonly clock: Clock;
  /** How the provider is reached now; a key that was changed counts from the next request on. @throws when it is not configured */
  readonly connection: () => Promise<Connection & { readonly price: Price | null }>;
  readonly expense: (orderId: string, price: Price | null) => Expense;
}

export async function openRemoteEngine(
  source: RemoteSource,
  { clock, connection, expense }: RemoteTools,
): Promise<Model> {
  const agents = new Map<Connection['egress'], Agent>();
  const agentFor = (egress: Connection['egress']): Agent => {
    const known = agents.get(egress);
    if (known !== undefined) return known;
    const connect = guardedConnector(egress, { timeoutMs: CONNECT_TIMEOUT_MS });
    const agent = new Agent({ connections: REQUESTS_OPEN_MAX, connect });
    agents.set(egress, agent);
    return agent;
  };
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(agents.values(), (agent) => agent.destroy()));
  };
  const prefixes = { query: source.queryPrefix ?? '', passage: source.passagePrefix ?? '' };

  const answered = async (texts: readonly string[], signal: AbortSignal): Promise<Answer> => {
    for (let attempt = 1; ; attempt += 1) {
      const reached = await connection();
      const answer = await post(agentFor(reached.egress), reached, source, texts, signal);
      if (answer.kind === 'vectors') return answer;
      const waitMs = Math.min(answer.waitMs ?? WAIT_FIRST_MS * 2 ** attempt, WAIT_MAX_MS);
      if (answer.isPassing && attempt < ATTEMPTS_MAX) {
        await waited(clock, waitMs, signal);
        continue;
      }
      if (answer.isRefusal && texts !== WORD) {
        const word = await post(agentFor(reached.egress), reached, source, WORD, signal);
        if (word.kind === 'vectors') throw embeddingFaults.text_unworkable(wordsOf(reached.provider, answer));
      }
      throw failed(reached.provider, answer, waitMs);
    }
  };

  const run = async (
    texts: readonly string[],
    signal: AbortSignal,
    dimensions: number,
    spent: Expense | null,
  ): Promise<Vectors> => {
    const vectors = new Float32Array(texts.length * dimensions);
    const tokens: number[] = [];
    for (const part of parts(texts)) {
      const answer = await answered(part, signal);
      spent?.saw(answer.tokens ?? tokensIn(part), answer.billedUsd);
      if (answer.width < dimensions)
        throw embeddingFaults.embedding_failed(
          `${source.provider} gave ${answer.width} dimensions, not ${dimensions}`,
        );
      vectors.set(unitVectors(answer.vectors, answer.width, dimensions), tokens.length * dimensions);
      tokens.push(...part.map((text) => tokensIn([text])));
    }
    return { vectors, tokens };
  };

  try {
    const { width } = await answered(WORD, new AbortController().signal);
    const dimensions = source.dimensions || width;
    if (dimensions > width)
      throw embeddingFaults.engine_unavailable(
        `the model has ${width} dimensions, and embeddings.dimensions wants ${dimensions}`,
      );
    return {
      facts: {
        model: source.model,
        dimensions,
        digest: sha256Hex(JSON.stringify({ ...source, dimensions })),
      },
      isComputedHere: false,
      charactersRead: REQUEST_LENGTH_MAX,
      async run(texts, kind, signal, orderId) {
        const given = texts.map((text) => prefixes[kind] + text);
        if (orderId === undefined) return run(given, signal, dimensions, null);
        const spent = expense(orderId, (await connection()).price);
        try {
          await spent.admitted(tokensIn(given));
          return await run(given, signal, dimensions, spent);
        } finally {
          await spent.settled();
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Answer {
  readonly kind: 'vectors';
  readonly vectors: Float32Array;
  readonly width: number;
  /** As the provider counts them; null when it does not say. */
  readonly tokens: number | null;
  /** US dollars; null when it does not say. */
  readonly billedUsd: number | null;
}

interface Failure {
  readonly kind: 'failure';
  /** Ends the sentence "the provider …". U1. */
  readonly what: string;
  readonly isPassing: boolean;
  readonly isRefusal: boolean;
  readonly waitMs: number | null;
}

async function post(
  dispatcher: Agent,
  { baseUrl, apiKey, headers, timeoutMs }: Connection,
  { model, dimensions }: RemoteSource,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<Answer | Failure> {
  try {
    const response = await request(`${baseUrl.replace(/\/+$/, '')}/embeddings`, {
      dispatcher,
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      // Not every endpoint knows `dimensions` or base64; numbers and a cut of our own do everywhere.
      body: JSON.stringify({
        model,
        input: texts,
        encoding_format: 'float',
        ...(dimensions === 0 ? {} : { dimensions }),
      }),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      signal,
    });
    const { statusCode } = response;
    if (statusCode !== 200) {
      response.body.on('error', () => undefined).destroy();
      const isPassing = statusCode === 408 || statusCode === 429 || statusCode >= 500;
      return {
        kind: 'failure',
        what: `answered ${statusCode}`,
        isPassing,
        isRefusal: REFUSED.has(statusCode),
        waitMs: askedWait(response.headers['retry-after']),
      };
    }
    const body = await jsonWithin(response.body);
    return vectorsOf(body, texts.length) ?? nonsense('an answer that makes no sense');
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof TooLarge) return nonsense('an answer larger than is accepted');
    return { kind: 'failure', what: 'is not reachable', isPassing: true, isRefusal: false, waitMs: null };
  }
}

const nonsense = (what: string): Failure => ({
  kind: 'failure',
  what: `sent ${what}`,
  isPassing: false,
  isRefusal: false,
  waitMs: null,
});

class TooLarge extends Error {}

async function jsonWithin(body: AsyncIterable<Buffer>): Promise<unknown> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > ANSWER_BYTES_MAX) throw new TooLarge();
    pieces.push(piece);
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString()) as unknown;
  } catch {
    return null;
  }
}

/** U3. In the order of the texts, whatever the order of the answer; null for nonsense. */
function vectorsOf(body: unknown, count: number): Answer | null {
  const data = (body as { readonly data?: unknown } | null)?.data;
  if (!Array.isArray(data) || data.length !== count) return null;
  const width = (data[0] as { readonly embedding?: readonly unknown[] } | null)?.embedding?.length ?? 0;
  if (width === 0) return null;
  const vectors = new Float32Array(count * width);
  const seen = new Set<number>();
  for (const [at, entry] of data.entries()) {
    const { embedding, index = at } = (entry ?? {}) as {
      readonly embedding?: unknown;
      readonly index?: unknown;
    };
    if (!Array.isArray(embedding) || embedding.length !== width) return null;
    if (typeof index !== 'number' || !(index in data) || seen.has(index)) return null;
    if (!embedding.every((value) => Number.isFinite(value))) return null;
    seen.add(index);
    vectors.set(embedding, index * width);
  }
  const { prompt_tokens: tokens, cost } = (body as { readonly usage?: Reported | null }).usage ?? {};
  return { kind: 'vectors', vectors, width, tokens: amount(tokens), billedUsd: amount(cost) };
}

interface Reported {
  readonly prompt_tokens?: unknown;
  readonly cost?: unknown;
}

/** A provider's word, as far as it makes sense. */
function amount(value: unknown): number | null {
  return typeof value === 'number' && value >= 0 && value < AMOUNT_MAX ? value : null;
}

function tokensIn(texts: readonly string[]): number {
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  return Math.ceil(length / CHARACTERS_PER_TOKEN);
}

/** U3. */
function* parts(texts: readonly string[]): Iterable<readonly string[]> {
  let part: string[] = [];
  let length = 0;
  for (const text of texts) {
    const isFull = part.length === REQUEST_TEXTS_MAX || length + text.length > REQUEST_LENGTH_MAX;
    if (isFull && part.length > 0) {
      yield part;
      part = [];
      length = 0;
    }
    part.push(text);
    length += text.length;
  }
  if (part.length > 0) yield part;
}

/** Retry-After in seconds; null when the provider does not say. */
function askedWait(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string' || header.trim() === '') return null;
  const seconds = Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

function wordsOf(provider: string, { what }: Failure): string {
  return `${provider} ${what}`;
}

function failed(provider: string, failure: Failure, retryAfterMs: number): Fault {
  return embeddingFaults.embedding_failed(
    wordsOf(provider, failure),
    failure.isPassing ? { retryable: true, retryAfterMs } : {},
  );
}

function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.startTimer(ms, () => {
      signal.removeEventListener('abort', leave);
      resolve();
    });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
}
