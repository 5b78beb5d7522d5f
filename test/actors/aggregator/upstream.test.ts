import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openUpstream, type Upstream, type UpstreamAccess } from '../../../src/actors/aggregator/upstream.ts';
import { systemClock } from '../../../src/std/clock.ts';
import { ManualClock } from '../../../src/supervisor/testkit/manual-clock.ts';

const DEADLINE_MS = 12_000;

interface Setting {
  readonly upstream: Upstream;
  readonly access: UpstreamAccess;
  readonly clock: ManualClock;
}

async function against(listener: RequestListener): Promise<Setting> {
  const clock = new ManualClock();
  const upstream = openUpstream(clock);
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    await upstream.close();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return {
    upstream,
    clock,
    access: { baseUrl: `http://127.0.0.1:${port}/api/v1/`, apiKey: 'sk-or-v1-mine' },
  };
}

test('a server that takes the request and says nothing is given up', async () => {
  const asked = Promise.withResolvers<void>();
  const { upstream, access, clock } = await against(() => asked.resolve());
  const answer = upstream.get(access, '/key');
  await asked.promise;
  await clock.advance(DEADLINE_MS);
  expect(await answer).toEqual({ kind: 'failed', why: 'late' });
  expect(clock.timers).toBe(0);
});

test('a body that begins and never ends is given up, too', async () => {
  const begun = Promise.withResolvers<void>();
  const { upstream, access, clock } = await against((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"data":', () => begun.resolve());
  });
  const answer = upstream.get(access, '/key');
  await begun.promise;
  await clock.advance(DEADLINE_MS);
  expect(await answer).toEqual({ kind: 'failed', why: 'late' });
});

test('of a body that is longer than allowed no more is read than that', async () => {
  const cut = Promise.withResolvers<void>();
  const { upstream, access } = await against((_request, response) => {
    response.once('close', cut.resolve);
    response.writeHead(200);
    const fill = (): void => {
      while (response.write('x'.repeat(65_536)));
      response.once('drain', fill);
    };
    fill();
  });
  expect(await upstream.get(access, '/models', 200_000)).toEqual({ kind: 'failed', why: 'too large' });
  await cut.promise;
});

test('a redirect is not followed: the key stays here', async () => {
  const paths: (string | undefined)[] = [];
  const { upstream, access } = await against((request, response) => {
    paths.push(request.url);
    response.writeHead(302, { location: '/elsewhere' }).end();
  });
  expect(await upstream.get(access, '/key')).toEqual({ kind: 'refused', status: 302 });
  expect(paths).toEqual(['/api/v1/key']);
});

test('nobody at the address is a failure like any other', async () => {
  const upstream = openUpstream(systemClock);
  onTestFinished(() => upstream.close());
  const access = { baseUrl: 'http://127.0.0.1:1/api/v1', apiKey: null };
  expect(await upstream.get(access, '/key')).toEqual({ kind: 'failed', why: 'unreachable' });
});
