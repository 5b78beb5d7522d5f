// HealthClient: asks for /api/health again and again, one request at a time, from a thread of its own.

import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { percentiles } from './harness.ts';

export interface HealthClient {
  start(): void;
  /** In milliseconds, of the requests since the start. @throws when one of them failed, or none was answered. */
  stop(): Promise<{ readonly p50: number; readonly p99: number }>;
  close(): Promise<void>;
}

type Order = 'start' | 'stop';

export async function openHealthClient(url: URL): Promise<HealthClient> {
  const worker = new Worker(new URL(import.meta.url), { workerData: url.href });
  await once(worker, 'online');
  const order = (word: Order): void => worker.postMessage(word);
  return {
    start: () => order('start'),
    stop: async () => {
      order('stop');
      const [samplesMs] = (await once(worker, 'message')) as [Float64Array];
      if (samplesMs.length === 0) throw new Error('no request was answered');
      return percentiles(samplesMs);
    },
    close: async () => {
      await worker.terminate();
    },
  };
}

const agent = new Agent({ keepAlive: true });

function request(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`));
      response.resume();
      response.on('end', resolve);
    }).on('error', reject);
  });
}

function serve(url: string): void {
  let isOn = false;
  let asking = Promise.resolve();
  let samplesMs: number[] = [];
  const ask = async (): Promise<void> => {
    while (isOn) {
      const startedMs = performance.now();
      await request(url);
      samplesMs.push(performance.now() - startedMs);
    }
  };
  parentPort?.on('message', (order: Order) => {
    isOn = order === 'start';
    if (isOn) {
      samplesMs = [];
      asking = ask();
      return;
    }
    // A request that failed ends this thread, and with it the bench.
    void asking.then(() => parentPort?.postMessage(Float64Array.from(samplesMs)));
  });
}

if (!isMainThread) serve(workerData as string);
