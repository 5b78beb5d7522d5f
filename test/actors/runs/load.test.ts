// Load, small: the parts of `npm run bench -- load` in one process. Only completeness is asked for here; how fast and how much
// is for the bench.

import { afterAll, describe, expect, test } from 'vitest';
import { Crowd } from '../../../bench/load/crowd.ts';
import { startModelDouble } from '../../../bench/load/model-double.ts';
import { RunCheck } from '../../../bench/load/run-check.ts';
import { seededRandom } from '../../../src/std/ids.ts';
import { eventually } from '../../support/eventually.ts';
import { openTroupe } from '../../support/troupe.ts';

const RUNS = 150;
const RATES = [2, 10, 40, 80];
const SEED = Number(process.env['TEST_SEED'] ?? Date.now() % 1_000_000);

const double = await startModelDouble();
const app = await openTroupe({ service: { environment: { LMSTUDIO_BASE_URL: double.baseUrl } } });
afterAll(async () => {
  await double.stop();
  await app.close();
});

test(`of ${RUNS} runs whose models speed up and slow down nothing is lost, read live or afterwards (seed ${SEED})`, async () => {
  const { float } = seededRandom(SEED);
  const random = (below: number): number => Math.floor(float() * below);
  const readers = 1 + random(RUNS - 1);
  const crowd = new Crowd({ url: new URL(app.url), model: 'lmstudio:steady' });
  double.setRate(RATES[random(RATES.length)] ?? 1);
  await crowd.begin(RUNS, readers, 500);
  for (let phase = 0; phase < 6; phase += 1) {
    double.setRate(RATES[random(RATES.length)] ?? 1);
    const sent = double.tokensSent;
    await eventually(() => double.tokensSent).toBeGreaterThan(sent + random(1_500));
  }
  double.finish(300);
  const { runs, events, flaws } = await crowd.settle();
  expect(flaws).toEqual([]);
  expect(runs).toBe(RUNS);
  expect(events).toBeGreaterThan(RUNS * 5);
  await eventually(() => double.openCount).toBe(0);
});

describe('a reader finds', () => {
  const chunk = (...tokens: string[]): string => JSON.stringify({ content: `${tokens.join(' ')} ` });
  const whole: [number, string, string][] = [
    [1, 'start', '{}'],
    [2, 'chunk', chunk('0:11')],
    [3, 'chunk', chunk('1:12', '2:13')],
    [4, 'chunk', chunk('end:3')],
    [5, 'done', '{}'],
    [6, 'close', '{}'],
  ];
  const verdictOn = (events: readonly [number, string, string][]): string | null => {
    const check = new RunCheck();
    for (const event of events) check.take(...event);
    return check.verdict();
  };

  test('nothing wrong with a run that is whole', () => {
    expect(verdictOn(whole)).toBeNull();
  });
  test('an event that is missing', () => {
    expect(verdictOn(whole.toSpliced(0, 1))).toMatch('event 2 came after 0');
  });
  test('an event that is repeated', () => {
    expect(verdictOn(whole.toSpliced(3, 0, [3, 'status', '{}']))).toMatch('event 3 came after 3');
  });
  test('a token that is missing though the numbers run on', () => {
    expect(verdictOn(whole.with(1, [2, 'status', '{}']))).toMatch('token 1 in the place of 0');
  });
  test('tokens that have changed places', () => {
    expect(verdictOn(whole.with(2, [3, 'chunk', chunk('2:13', '1:12')]))).toMatch(
      'token 2 in the place of 1',
    );
  });
  test('an answer that lacks its last tokens', () => {
    expect(verdictOn(whole.with(2, [3, 'chunk', chunk('1:12')]))).toMatch('it has 2 tokens, and not all');
  });
  test('a run that has no end', () => {
    expect(verdictOn(whole.slice(0, 5))).toMatch('without done and close');
  });
  test('what comes behind the end', () => {
    expect(verdictOn([...whole, [7, 'status', '{}']])).toMatch('status came after close');
  });
});
