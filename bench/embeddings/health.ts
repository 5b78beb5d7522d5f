// Health: how long the whole service takes to say how it is while clients have it embed without a pause, over HTTP.

import { type HealthClient, openHealthClient } from '../kernel/health-client.ts';
import { type Figure, figure } from '../report.ts';
import { type BenchService, startService } from '../service.ts';

const ROUNDS = 3;
const ROUND_MS = 4_000;
const CLIENTS = 2;

/** `texts` gives so many, new ones each time. */
export async function healthFigures(
  texts: (count: number) => readonly string[],
  textsPerRequest: number,
): Promise<Figure[]> {
  const service = await startService({});
  const client = await openHealthClient(new URL('/api/health', service.url));
  try {
    const calm = await rounds(client, async () => undefined);
    const busy = await rounds(client, () => embedFor(service, texts, textsPerRequest, ROUND_MS));
    return [
      ...figuresOf(calm, 'nothing to embed', {}),
      ...figuresOf(busy, `${CLIENTS} clients embed ${textsPerRequest} texts at a time`, { target: 20 }),
    ];
  } finally {
    await client.close();
    await service.stop();
  }
}

type Percentiles = Awaited<ReturnType<HealthClient['stop']>>;

async function rounds(client: HealthClient, work: () => Promise<unknown>): Promise<Percentiles[]> {
  const found: Percentiles[] = [];
  for (let round = -1; round < ROUNDS; round += 1) {
    client.start();
    await Promise.all([work(), new Promise((resolve) => setTimeout(resolve, ROUND_MS))]);
    const percentiles = await client.stop();
    if (round >= 0) found.push(percentiles); // The first one warms up.
  }
  return found;
}

async function embedFor(
  { url }: BenchService,
  texts: (count: number) => readonly string[],
  textsPerRequest: number,
  forMs: number,
): Promise<void> {
  const untilMs = performance.now() + forMs;
  const one = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const response = await fetch(new URL('/v1/embeddings', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'default', input: texts(textsPerRequest), encoding_format: 'base64' }),
      });
      if (!response.ok) throw new Error(`/v1/embeddings answered ${response.status}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
}

function figuresOf(
  found: readonly Percentiles[],
  by: string,
  options: { readonly target?: number },
): Figure[] {
  return [
    figure(
      '/api/health, p50',
      'ms',
      found.map(({ p50 }) => p50),
      { by },
    ),
    figure(
      '/api/health, p99',
      'ms',
      found.map(({ p99 }) => p99),
      { by, ...options },
    ),
  ];
}
