// Secrets stay where they are put: whatever is asked and whatever fails, none of them comes out again, in no reply, log line
// or file. Every route that the service publishes is read, and those about settings, providers and models are written to, too.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readdir, readFile, rename, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { SETTING_KEYS, type SettingKey, settings } from '../../../src/actors/config/settings.ts';
import { type ServiceProcess, startService } from '../../support/service-process.ts';
import { temporaryFolder } from '../../support/storage.ts';

const SECRET_KEYS = SETTING_KEYS.filter((key) => settings[key].secret && settings[key].writer === 'client');
const ENVIRONMENT_KEY = 'providers.openai.api_key';
const ABOUT = /^\/api\/(config|settings|providers|models)\b/;
/** Would come out at the far end of a process that went on for ever. */
const REQUEST_MS_MAX = 15_000;

interface Description {
  readonly paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  readonly responses: Record<string, { readonly content?: Record<string, unknown> } | undefined>;
}

/** A provider as rude as they come: it refuses everything, and quotes what it was sent. */
async function startEcho(): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(401, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `You sent ${JSON.stringify(request.headers)}` } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

function treeOf(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const tree: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(values)) {
    const segments = key.split('.');
    const leaf = segments.pop() as string;
    let at = tree;
    for (const segment of segments) {
      at[segment] ??= {};
      at = at[segment] as Record<string, unknown>;
    }
    at[leaf] = value;
  }
  return tree;
}

class Collector {
  readonly said: string[] = [];
  readonly service: ServiceProcess;

  constructor(service: ServiceProcess) {
    this.service = service;
  }

  async send(method: string, path: string, body?: string): Promise<number> {
    const response = await fetch(this.service.url + path, {
      method,
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    });
    this.said.push(`${method} ${path} ${JSON.stringify([...response.headers])} ${await response.text()}`);
    return response.status;
  }
}

test('no secret comes out again', async () => {
  const canaries = new Map(SECRET_KEYS.map((key) => [key, `canary-${randomBytes(16).toString('hex')}`]));
  const headerCanary = `canary-${randomBytes(16).toString('hex')}`;
  const endpointCanary = `canary-${randomBytes(16).toString('hex')}`;
  const all = [...canaries.values(), headerCanary, endpointCanary];
  expect(SECRET_KEYS.length).toBeGreaterThanOrEqual(6);

  const echo = await startEcho();
  await using folder = await temporaryFolder();
  const service = await startService({
    dataDir: folder.directory,
    environment: {
      SVC_LOG_LEVEL: 'debug',
      OPENAI_API_KEY: canaries.get(ENVIRONMENT_KEY) as string,
    },
  });
  await using _service = service;
  const collector = new Collector(service);
  const post = (path: string, body: unknown) => collector.send('POST', path, JSON.stringify(body));

  // Put in, by every way in.
  const byUpdate = new Map<string, string>([...canaries].filter(([key]) => key !== ENVIRONMENT_KEY));
  expect(await post('/api/config/update', treeOf(Object.fromEntries(byUpdate)))).toBe(200);
  const addresses = ['openai', 'anthropic', 'openrouter', 'vercel'].map((id) => [
    `providers.${id}.base_url`,
    echo,
  ]);
  expect(await post('/api/config/update', treeOf(Object.fromEntries(addresses)))).toBe(200);
  const endpoint = {
    id: 'rude',
    label: 'Rude',
    base_url: echo,
    api_key: endpointCanary,
    headers: { 'x-team': headerCanary },
  };
  expect(await post('/api/providers/custom', endpoint)).toBe(200);

  // Asked for, at every route; and sent, with nothing and with secrets where they do not belong, to those about them.
  const description = (await (await fetch(`${service.url}/api/openapi.json`)).json()) as Description;
  const operations = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const misplaced = Object.fromEntries([...canaries.keys()].map((key, at) => [key, [all[at]]]));
  for (const { path, method, operation } of operations) {
    const url = path.replace(/\{\w+\}/g, 'rude');
    const isStream = operation.responses['200']?.content?.['text/event-stream'] !== undefined;
    if (method === 'GET' && !isStream) await collector.send(method, url);
    if (!ABOUT.test(path) || !['POST', 'PUT', 'PATCH'].includes(method)) continue;
    await collector.send(method, url, '{}');
    await collector.send(method, url, JSON.stringify({ ...endpoint, id: 'Not An Id' }));
    await collector.send(method, url, JSON.stringify({ ...endpoint, base_url: `${echo}/@` }));
    await collector.send(
      method,
      url,
      JSON.stringify({ ...treeOf(misplaced), models: all, lmstudio: all[0] }),
    );
    await collector.send(method, url, `{"api_key": "${all[0]}", `);
  }
  expect(collector.said.length).toBeGreaterThan(30);
  // And through a provider that quotes them.
  for (const provider of ['openai', 'anthropic', 'openrouter', 'vercel', 'rude']) {
    await post('/api/agent/chat', { message: 'Hello', model: `${provider}:some-model` });
    await collector.send('GET', `/api/providers/models?provider=${provider}`);
  }
  for (const key of SECRET_KEYS) {
    expect(await post('/api/config/update', treeOf({ [key]: `${canaries.get(key)} with blanks` }))).toBe(400);
  }

  await stopped(service);
  const files = (await readdir(folder.directory, { recursive: true, withFileTypes: true })).filter((file) =>
    file.isFile(),
  );
  const contents = await Promise.all(
    files.map((file) => readFile(join(file.parentPath, file.name), 'latin1')),
  );
  expect(contents.length).toBeGreaterThanOrEqual(2);
  expect(service.stderr).toContain('"route":"/api/config/update"');
  expect(collector.said.join('\n')).toContain('***');

  const places: readonly (readonly [string, string])[] = [
    ...collector.said.map((said) => ['reply', said] as const),
    ['standard output', service.stdout],
    ['log', service.stderr],
    ...files.map((file, at) => [`file ${file.name}`, contents[at] as string] as const),
  ];
  const found = places.flatMap(([place, text]) =>
    all
      .filter((canary) => text.includes(canary))
      .map((canary) => `${nameOf(canary)} in ${place}: ${around(text, canary)}`),
  );
  expect(found).toEqual([]);

  function nameOf(canary: string): SettingKey | 'a header' | 'a custom endpoint' {
    const key = SECRET_KEYS.find((one) => canaries.get(one) === canary);
    return key ?? (canary === headerCanary ? 'a header' : 'a custom endpoint');
  }
}, 120_000);

test('a lost key file is told of by name, and putting it back brings the secrets back', async () => {
  await using folder = await temporaryFolder();
  const keyFile = join(folder.directory, 'settings.key');
  const start = (environment = {}) => startService({ dataDir: folder.directory, environment });
  const secret = `canary-${randomBytes(16).toString('hex')}`;
  const shownBy = async (service: ServiceProcess): Promise<unknown> =>
    (await service.call('GET', '/api/config')).body.providers.openai.api_key;

  const first = await start({ OPENAI_API_KEY: secret });
  await stopped(first);
  await rename(keyFile, `${keyFile}.kept`);

  const second = await start({ OPENAI_API_KEY: secret });
  expect(await shownBy(second)).toBeNull();
  await stopped(second);
  expect(second.stderr).toContain('"settings":["providers.openai.api_key"]');
  expect(second.stderr).toContain(`sealed with another key than the one in ${keyFile}`);
  await rename(`${keyFile}.kept`, keyFile);
  await chmod(keyFile, 0o644);

  const third = await start({ SVC_LOG_LEVEL: 'warn' });
  expect(await shownBy(third)).toBe(`***${secret.slice(-4)}`);
  await stopped(third);
  expect(third.stderr).toContain(`${keyFile} was open to others`);
  expect((await stat(keyFile)).mode & 0o777).toBe(0o600);
  for (const { stdout, stderr } of [first, second, third]) expect(stdout + stderr).not.toContain(secret);
}, 120_000);

async function stopped(service: ServiceProcess): Promise<void> {
  service.signal('SIGTERM');
  expect(await service.exited).toMatchObject({ code: 0 });
}

function around(text: string, canary: string): string {
  const at = text.indexOf(canary);
  return text.slice(Math.max(0, at - 60), at + 60);
}
