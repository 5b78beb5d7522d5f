// The service as a process: the line that it prints, starts that fail, and signals.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ProviderDouble, startProviderDouble } from './support/provider-double.ts';
import { orderOf, payloadOf, textOf } from './support/run-events.ts';
import { type ServiceProcess, spawnService, startService } from './support/service-process.ts';
import { temporaryFolder } from './support/storage.ts';
import { DOUBLE_MODEL } from './support/troupe.ts';

describe('a start', () => {
  test('prints one line with the address, and answers there', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({ dataDir: folder.directory });
    expect(service.stdout).toMatch(/^Troupe \d+\.\d+\.\d+ is ready at http:\/\/127\.0\.0\.1:\d+ .*\n$/);
    expect(service.stderr).toBe('');
    expect((await service.call('GET', '/api/health')).status).toBe(200);
  });
});

describe('a start that fails says why in one line, and touches nothing', () => {
  async function refusal(dataDir: string, environment: Readonly<Record<string, string>> = {}) {
    await using service = spawnService({ dataDir, environment });
    const { code } = await service.exited;
    const { stdout, stderr } = service;
    return { code, stdout, stderr };
  }
  const oneLine = (text: string) => ({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(new RegExp(`^Troupe cannot start: [^\\n]*${text}[^\\n]*\\n$`)),
  });

  test('when the port is taken', async () => {
    await using folder = await temporaryFolder();
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { readonly port: number };
    const dataDir = join(folder.directory, 'data');
    expect(await refusal(dataDir, { SVC_PORT: String(port) })).toEqual(oneLine(`port ${port} .* is taken`));
    expect(await readdir(folder.directory)).toEqual([]);
    other.close();
  });

  test('when another live process works in the data folder', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({ dataDir: folder.directory });
    const lock = await readFile(join(folder.directory, 'lock'), 'utf8');
    expect(await refusal(folder.directory)).toEqual(oneLine('is in use by process \\d+'));
    expect(await readFile(join(folder.directory, 'lock'), 'utf8')).toBe(lock);
    expect((await service.call('GET', '/api/health')).status).toBe(200);
  });

  test('when the data folder cannot be written to', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.directory, 'file');
    await writeFile(file, 'a file, not a folder');
    expect(await refusal(join(file, 'data'))).toEqual(oneLine('cannot be written to'));
    expect(await readFile(file, 'utf8')).toBe('a file, not a folder');
  });

  test('when a newer version wrote the data folder', async () => {
    await using folder = await temporaryFolder();
    const version = join(folder.directory, 'version.json');
    await writeFile(version, '{"version":4711}\n');
    expect(await refusal(folder.directory)).toEqual(oneLine('newer Troupe'));
    expect(await readdir(folder.directory)).toEqual(['version.json']);
    expect(await readFile(version, 'utf8')).toBe('{"version":4711}\n');
  });

  test.each([
    [{ SVC_PORT: '70000' }, 'SVC_PORT'],
    [{ SVC_LOG_LEVEL: 'loud' }, 'SVC_LOG_LEVEL'],
  ])('when a setting makes no sense: %j', async (environment, name) => {
    await using folder = await temporaryFolder();
    expect(await refusal(folder.directory, environment as Record<string, string>)).toEqual(oneLine(name));
    expect(await readdir(folder.directory)).toEqual([]);
  });
});

describe('SIGTERM', () => {
  /** A service with a run that has said something and waits for its model. */
  async function withLiveRun(
    body: (live: {
      readonly service: ServiceProcess;
      readonly double: ProviderDouble;
      readonly run: Awaited<ReturnType<ServiceProcess['start']>>;
      readonly dataDir: string;
    }) => Promise<void>,
  ): Promise<void> {
    await using folder = await temporaryFolder();
    const script = { text: ['Half ', 'a word'], fault: { kind: 'stall', afterChunks: 1 } } as const;
    const double = await startProviderDouble({ script });
    try {
      await using service = await startService({
        dataDir: folder.directory,
        environment: { LMSTUDIO_BASE_URL: double.baseUrl },
        defaults: { model: DOUBLE_MODEL },
      });
      const run = await service.start('Say it', { session_id: 'live' });
      await run.reader.until('chunk');
      await body({ service, double, run, dataDir: folder.directory });
    } finally {
      await double.stop();
    }
  }

  test('ends an idle service in order', async () => {
    await using folder = await temporaryFolder();
    await using service = await startService({ dataDir: folder.directory });
    service.signal('SIGTERM');
    expect(await service.exited).toEqual({ code: 0, signal: null });
    expect(service.stdout).toContain('stopping (SIGTERM)');
    expect(service.stderr).toBe('');
    expect(await readdir(folder.directory)).not.toContain('lock');
  });

  test('lets a live run finish, and takes no new ones', () =>
    withLiveRun(async ({ service, double, run }) => {
      service.signal('SIGTERM');
      await service.said(/stopping/);
      const { status, headers, body } = await service.call('POST', '/api/agent/chat/stream', {
        message: 'More',
      });
      expect({ status, body }).toEqual({ status: 503, body: { error: expect.any(String) } });
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      double.release();
      const events = await run.reader.rest();
      expect(textOf(events)).toBe('Half a word');
      expect(orderOf(events).slice(-2)).toEqual(['done', 'close']);
      expect(await service.exited).toEqual({ code: 0, signal: null });
    }));

  test('stops a run that does not end in time: its readers hear why, and it is saved', () =>
    withLiveRun(async ({ service, run, dataDir }) => {
      service.signal('SIGTERM');
      const [, ...events] = await run.reader.rest();
      expect(orderOf(events).slice(-3)).toEqual(['chunk', 'error', 'close']);
      expect(payloadOf(events, 'error')).toEqual({
        error: 'The service was stopped',
        code: 'service_stopped',
      });
      expect(await service.exited).toEqual({ code: 0, signal: null });
      await using next = await startService({ dataDir });
      expect(await next.listed(run.runId)).toMatchObject({ status: 'failed' });
      expect(await (await next.attach(run.runId)).rest()).toEqual(events);
      expect(await next.messages('live')).toMatchObject([
        { content: 'Say it' },
        { content: 'Half', metadata: { interrupted: true } },
      ]);
    }));

  test('sent twice stops at once; the run is settled by the next start', () =>
    withLiveRun(async ({ service, run, dataDir }) => {
      service.signal('SIGTERM');
      await service.said(/stopping/);
      service.signal('SIGTERM');
      expect(await service.exited).toEqual({ code: 1, signal: null });
      await run.reader.rest().catch(() => undefined);
      await using next = await startService({ dataDir });
      expect(await next.listed(run.runId)).toMatchObject({ status: 'failed' });
      expect(payloadOf(await (await next.attach(run.runId)).rest(), 'error').error).toMatch(/restarted/);
    }));
});
