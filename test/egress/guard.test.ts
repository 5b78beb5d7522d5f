// Guard: real connections to a real server on this machine, through names that are resolved by hand.

import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  type EgressPolicy,
  EgressRefused,
  guardedConnector,
  policyBeside,
  refusalOf,
} from '../../src/egress/guard.ts';

let server: Server;
let port: number;
let asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (request.url === '/moved') response.writeHead(302, { location: `http://inside.test:${port}/secret` });
    response.end('here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
beforeEach(() => {
  asked = [];
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

/** Names and what they resolve to, time after time; the last answer stays. */
function resolving(names: Readonly<Record<string, readonly (readonly string[])[]>>): LookupFunction {
  const times = new Map<string, number>();
  return (hostname, options, callback) => {
    const time = times.get(hostname) ?? 0;
    times.set(hostname, time + 1);
    const answers = names[hostname] ?? [];
    const addresses = answers[Math.min(time, answers.length - 1)];
    if (addresses === undefined) {
      return callback(Object.assign(new Error('unknown name'), { code: 'ENOTFOUND' }), '');
    }
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all) return callback(null, found);
    return callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}

/** What came back, or what was refused. */
async function outcome(policy: EgressPolicy, url: string, lookup?: LookupFunction): Promise<unknown> {
  const agent = new Agent({
    connect: guardedConnector(policy, { timeoutMs: 2_000, ...(lookup === undefined ? {} : { lookup }) }),
  });
  try {
    const response = await fetch(url, { dispatcher: agent });
    return await response.text();
  } catch (error) {
    return (error as Error).cause;
  } finally {
    await agent.destroy();
  }
}

describe('a connection to an address inside', () => {
  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1'])(
    'is refused before it is made: %s',
    async (host) => {
      expect(await outcome('public_only', `http://${host}:${port}/`)).toBeInstanceOf(EgressRefused);
      expect(asked).toEqual([]);
    },
  );

  test('is refused when a name points there, or also points there', async () => {
    const lookup = resolving({ 'inside.test': [['127.0.0.1']], 'both.test': [['8.8.8.8', '127.0.0.1']] });
    for (const host of ['inside.test', 'both.test']) {
      expect(await outcome('public_only', `http://${host}:${port}/`, lookup)).toBeInstanceOf(EgressRefused);
    }
    expect(asked).toEqual([]);
  });

  test('is made where private addresses are allowed, but not to the metadata of a cloud', async () => {
    expect(await outcome('private_too', `http://127.0.0.1:${port}/`)).toBe('here');
    const lookup = resolving({ 'metadata.test': [['169.254.169.254']] });
    expect(await outcome('private_too', 'http://metadata.test/', lookup)).toBeInstanceOf(EgressRefused);
    expect(await outcome('private_too', 'http://[::ffff:169.254.169.254]/')).toBeInstanceOf(EgressRefused);
  });

  test('is made without a question for the operator', async () => {
    expect(await outcome('any', `http://127.0.0.1:${port}/`)).toBe('here');
  });
});

test('a name that resolves to something else the second time gets no further', async () => {
  const lookup = resolving({ 'rebinding.test': [['93.184.215.14'], ['127.0.0.1']] });
  const url = `http://rebinding.test:${port}/`;
  expect(await refusalOf('public_only', url, lookup)).toBeNull();
  expect(await outcome('public_only', url, lookup)).toBeInstanceOf(EgressRefused);
  expect(asked).toEqual([]);
});

test('a redirect is checked like the first address', async () => {
  const lookup = resolving({ 'inside.test': [['169.254.169.254']] });
  expect(await outcome('private_too', `http://127.0.0.1:${port}/moved`, lookup)).toBeInstanceOf(
    EgressRefused,
  );
  expect(asked).toEqual(['/moved']);
});

describe('asked beforehand', () => {
  const lookup = resolving({ 'outside.test': [['8.8.8.8']], 'inside.test': [['10.1.2.3']] });

  test.each([
    ['http://outside.test/v1', false],
    ['https://8.8.8.8/v1', false],
    ['http://unknown.test/v1', false],
    ['http://inside.test/v1', true],
    ['http://[::1]:9/v1', true],
    ['http://10.0.0.1/v1', true],
  ])('%s is refused: %s', async (url, isRefused) => {
    expect((await refusalOf('public_only', url, lookup)) !== null).toBe(isRefused);
  });

  test('the refusal names the host as it was given, and not its address', async () => {
    const refused = await refusalOf('public_only', 'http://inside.test/v1', lookup);
    expect(refused?.message).toBe('inside.test has a private address, which is not allowed here');
  });
});

describe('what a server names', () => {
  const lookup = (addresses: readonly string[]) => resolving({ 'server.test': [addresses] });

  test.each([
    ['http://127.0.0.1:1/mcp', 'public_or_loopback'],
    ['http://localhost/mcp', 'public_or_loopback'],
    ['http://tools.localhost/mcp', 'public_or_loopback'],
    ['http://[::1]/mcp', 'public_or_loopback'],
    ['https://192.168.1.9/mcp', 'public_or_private'],
    ['https://100.64.0.9/mcp', 'public_or_private'],
    ['https://8.8.8.8/mcp', 'public_only'],
    ['http://169.254.169.254/mcp', 'public_only'],
  ])('may be in its own surroundings or public: %s', async (url, policy) => {
    expect(await policyBeside(url)).toBe(policy);
  });

  test('may be inside if the name leads inside with all of its addresses, and never this machine', async () => {
    const url = 'https://server.test/mcp';
    expect(await policyBeside(url, lookup(['10.0.0.1', '192.168.0.1']))).toBe('public_or_private');
    expect(await policyBeside(url, lookup(['10.0.0.1', '8.8.8.8']))).toBe('public_only');
    expect(await policyBeside(url, lookup(['127.0.0.1']))).toBe('public_only');
    expect(await policyBeside('https://unknown.test/mcp', lookup([]))).toBe('public_only');
  });

  test('is refused anywhere else', async () => {
    const inside = 'http://10.0.0.1/';
    const here = `http://127.0.0.1:${port}/`;
    expect(await outcome('public_or_loopback', here)).toBe('here');
    expect(await refusalOf('public_or_loopback', inside)).toBeInstanceOf(EgressRefused);
    expect(await refusalOf('public_or_private', inside)).toBeNull();
    expect(await outcome('public_or_private', here)).toBeInstanceOf(EgressRefused);
    expect(await refusalOf('public_or_private', 'http://169.254.169.254/')).toBeInstanceOf(EgressRefused);
  });
});
