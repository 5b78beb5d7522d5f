// Registry: a search in the public registry of servers, through this service, so that a client needs no way there of its own.
// G1 What the registry says is untrusted: texts are cut, addresses have to be http or https ones, and nothing of it is ever
//    fetched, run or kept; it fills in a form that a person looks at.
// G2 An answer is good for 15 minutes per query; who asks for the same meanwhile waits for the one request. The oldest answers
//    make room.
// G3 A failure is not kept: the next one to ask tries again.

import { Agent, request } from 'undici';
import { guardedConnector } from '../../egress/guard.ts';
import type { Clock } from '../../std/clock.ts';
import type { RegistryEntry } from './protocol.ts';

const CACHE_MS = 15 * 60_000;
const QUERIES_CACHED_MAX = 100;
const CONNECT_TIMEOUT_MS = 5_000;
const ANSWER_MS_MAX = 10_000;
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** What the registry gives at most on a page. */
const MATCHES_MAX = 100;
const CONNECTIONS_MAX = 4;
const TEXT_CHARS_MAX = 1_000;
const LIST_MAX = 20;
const OFFICIAL_META = 'io.modelcontextprotocol.registry/official';

interface Cached {
  readonly matches: Promise<readonly RegistryEntry[]>;
  readonly sinceMs: number;
}

export interface Registry {
  /** Every match. @throws any error when the registry gives no answer that makes sense */
  search(baseUrl: string, query: string): Promise<readonly RegistryEntry[]>;
  close(): Promise<void>;
}

export function openRegistry(clock: Clock): Registry {
  // The address is the operator's own.
  const agent = new Agent({
    connections: CONNECTIONS_MAX,
    connect: guardedConnector('any', { timeoutMs: CONNECT_TIMEOUT_MS }),
  });
  const cache = new Map<string, Cached>();

  const fetchMatches = async (url: string): Promise<readonly RegistryEntry[]> => {
    const abort = new AbortController();
    const deadline = clock.startTimer(ANSWER_MS_MAX, () => abort.abort());
    try {
      const response = await request(url, {
        dispatcher: agent,
        headers: { accept: 'application/json' },
        signal: abort.signal,
      });
      if (response.statusCode !== 200) {
        response.body.on('error', () => undefined).destroy();
        throw new Error(`status ${response.statusCode}`);
      }
      return entriesOf(JSON.parse(await textWithin(response.body)));
    } finally {
      deadline.cancel();
    }
  };

  return {
    async search(baseUrl, query) {
      const url = searchUrl(baseUrl, query);
      const nowMs = clock.monotonicMs();
      const kept = cache.get(url);
      if (kept !== undefined && nowMs - kept.sinceMs < CACHE_MS) return kept.matches;
      const entry: Cached = { matches: fetchMatches(url), sinceMs: nowMs };
      cache.delete(url);
      cache.set(url, entry);
      for (const oldest of cache.keys()) {
        if (cache.size <= QUERIES_CACHED_MAX) break;
        cache.delete(oldest);
      }
      try {
        return await entry.matches;
      } catch (error) {
        if (cache.get(url) === entry) cache.delete(url); // G3
        throw error;
      }
    },
    close: () => agent.destroy(),
  };
}

function searchUrl(baseUrl: string, query: string): string {
  const parameters = new URLSearchParams({ search: query, limit: String(MATCHES_MAX), version: 'latest' });
  return `${baseUrl.replace(/\/+$/, '')}/v0/servers?${parameters}`;
}

async function textWithin(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > ANSWER_BYTES_MAX) throw new Error('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** G1. @throws when the answer is no list of servers */
function entriesOf(answer: unknown): readonly RegistryEntry[] {
  const servers = memberOf(answer, 'servers');
  if (!Array.isArray(servers)) throw new Error('the answer is no list of servers');
  return servers.slice(0, MATCHES_MAX).flatMap((listed) => {
    const server = isObject(memberOf(listed, 'server')) ? memberOf(listed, 'server') : listed;
    const entry = isCurrent(listed, server) ? entryOf(server) : null;
    return entry === null ? [] : [entry];
  });
}

/** What the registry says beside an entry, in its newer and its older form. */
function isCurrent(listed: unknown, server: unknown): boolean {
  const notes = [listed, server].flatMap((holder) => {
    const note = memberOf(memberOf(holder, '_meta'), OFFICIAL_META);
    return note === undefined ? [] : [note];
  });
  const saysOf = (name: string): unknown =>
    [...notes, server].map((holder) => memberOf(holder, name)).find((value) => value !== undefined);
  const status = saysOf('status') ?? 'active';
  const isLatest = saysOf('isLatest') ?? saysOf('is_latest') ?? true;
  return status === 'active' && isLatest === true;
}

function entryOf(server: unknown): RegistryEntry | null {
  const name = textOf(memberOf(server, 'name'));
  if (name === '') return null;
  return {
    name,
    description: textOf(memberOf(server, 'description')),
    version: textOf(memberOf(server, 'version') ?? memberOf(memberOf(server, 'version_detail'), 'version')),
    repository_url: webAddress(memberOf(memberOf(server, 'repository'), 'url')),
    remotes: listOf(memberOf(server, 'remotes')).flatMap((remote) => {
      const url = webAddress(memberOf(remote, 'url'));
      return url === null ? [] : [{ type: textOf(eitherOf(remote, 'type', 'transport_type')), url }];
    }),
    packages: listOf(memberOf(server, 'packages')).flatMap((one) => {
      const identifier = textOf(eitherOf(one, 'identifier', 'name'));
      if (identifier === '') return [];
      return [
        {
          registry_type: textOf(eitherOf(one, 'registryType', 'registry_type')),
          identifier,
          runtime_hint: textOf(eitherOf(one, 'runtimeHint', 'runtime_hint')) || null,
        },
      ];
    }),
  };
}

function eitherOf(holder: unknown, name: string, olderName: string): unknown {
  return memberOf(holder, name) ?? memberOf(holder, olderName);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, TEXT_CHARS_MAX).toWellFormed() : '';
}

function webAddress(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > TEXT_CHARS_MAX || !URL.canParse(value)) return null;
  return /^https?:$/.test(new URL(value).protocol) ? value : null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, LIST_MAX) : [];
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
