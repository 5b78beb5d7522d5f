import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openRegistry, type Registry } from '../../../src/actors/mcp/registry.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { openTroupe } from '../../support/troupe.ts';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

interface Double {
  readonly url: string;
  readonly requests: readonly string[];
  answer(status: number, body: unknown): void;
}

/** A registry that answers what it is told to. */
async function registryDouble(body: unknown = { servers: [] }): Promise<Double> {
  const requests: string[] = [];
  let answer = { status: 200, text: JSON.stringify(body) };
  const server: Server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer(status, next) {
      answer = { status, text: typeof next === 'string' ? next : JSON.stringify(next) };
    },
  };
}

function openedRegistry(): { readonly registry: Registry; elapse(ms: number): void } {
  let elapsedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + elapsedMs };
  const registry = openRegistry(clock);
  onTestFinished(() => registry.close());
  return {
    registry,
    elapse(ms) {
      elapsedMs += ms;
    },
  };
}

const listed = (server: object, official: object = { status: 'active', isLatest: true }) => ({
  server,
  _meta: { [OFFICIAL]: official },
});

const GITHUB = {
  name: 'io.github.example/github',
  description: 'Issues and pull requests.',
  version: '1.2.0',
  repository: { url: 'https://github.com/example/github', source: 'github' },
  remotes: [
    { type: 'streamable-http', url: 'https://mcp.example/http' },
    { type: 'sse', url: 'javascript:alert(1)' },
  ],
  packages: [
    { registryType: 'npm', identifier: '@example/github', version: '1.2.0', runtimeHint: 'npx' },
    { registryType: 'oci', identifier: 'example/github' },
  ],
};

const GITHUB_ENTRY = {
  name: 'io.github.example/github',
  description: 'Issues and pull requests.',
  version: '1.2.0',
  repository_url: 'https://github.com/example/github',
  remotes: [{ type: 'streamable-http', url: 'https://mcp.example/http' }],
  packages: [
    { registry_type: 'npm', identifier: '@example/github', runtime_hint: 'npx' },
    { registry_type: 'oci', identifier: 'example/github', runtime_hint: null },
  ],
};

test('only what is active and latest is found, and nothing but plain fields of it', async () => {
  const double = await registryDouble({
    servers: [
      listed(GITHUB),
      listed({ ...GITHUB, version: '1.1.0' }, { status: 'active', isLatest: false }),
      listed({ name: 'gone' }, { status: 'deleted', isLatest: true }),
      { name: 'older/form', version: '0.1', status: 'active', _meta: { [OFFICIAL]: { is_latest: true } } },
      { name: 'older/gone', status: 'deprecated' },
      listed({ description: 'without a name' }),
      'no object',
    ],
  });
  const { registry } = openedRegistry();
  const found = await registry.search(double.url, 'git hub');
  expect(found).toEqual([
    GITHUB_ENTRY,
    {
      name: 'older/form',
      description: '',
      version: '0.1',
      repository_url: null,
      remotes: [],
      packages: [],
    },
  ]);
  expect(double.requests).toEqual(['/v0/servers?search=git+hub&limit=100&version=latest']);
});

test('an answer is kept for a quarter of an hour, a failure is not', async () => {
  const double = await registryDouble({ servers: [listed(GITHUB)] });
  const { registry, elapse } = openedRegistry();
  const [one, other] = await Promise.all([
    registry.search(double.url, 'a'),
    registry.search(double.url, 'a'),
  ]);
  expect(one).toBe(other);
  await registry.search(double.url, 'b');
  expect(double.requests).toHaveLength(2);
  elapse(14 * 60_000);
  await registry.search(double.url, 'a');
  expect(double.requests).toHaveLength(2);
  elapse(60_000);
  double.answer(500, '');
  await expect(registry.search(double.url, 'a')).rejects.toThrow('status 500');
  double.answer(200, { servers: [] });
  expect(await registry.search(double.url, 'a')).toEqual([]);
  expect(double.requests).toHaveLength(4);
});

test('what is no list of servers, or has no end, is a failure', async () => {
  const double = await registryDouble();
  const { registry } = openedRegistry();
  for (const body of ['<html>', '[]', '{"servers":{}}', 'x'.repeat(5 * 1024 * 1024)]) {
    double.answer(200, body);
    await expect(registry.search(double.url, 'a')).rejects.toThrow();
  }
});

test('the route asks for q and a limit, counts what it has cut, and says when nobody answers', async () => {
  const double = await registryDouble({
    servers: Array.from({ length: 3 }, (_, i) => listed({ ...GITHUB, name: `server-${i}` })),
  });
  await using app = await openTroupe({
    offline: true,
    service: { environment: { SVC_MCP_REGISTRY_URL: double.url } },
  });
  const search = (query: string) => app.call('GET', `/api/mcp/registry/search${query}`);
  const { status, body } = await search('?q=server&limit=2');
  expect(status).toBe(200);
  expect(body).toMatchObject({ count: 3, results: [{ name: 'server-0' }, { name: 'server-1' }] });
  expect((await search('?q=server')).body.results).toHaveLength(3);
  expect(double.requests).toHaveLength(1);
  for (const bad of ['', '?q=', '?q=%20', '?q=x&limit=0', '?q=x&limit=51']) {
    const refused = await search(bad);
    expect(refused.status, bad).toBe(400);
    expect(refused.body.error).toEqual(expect.any(String));
  }
  double.answer(503, '');
  const failed = await search('?q=other');
  expect(failed.status).toBe(502);
  expect(failed.body).toEqual({ error: 'The registry of MCP servers cannot be reached' });
});
