// Health: the cool-downs of a failing provider, on a clock that the test moves.

import { describe, expect, test } from 'vitest';
import {
  COOL_DOWN_FIRST_MS,
  COOL_DOWN_MAX_MS,
  createProviderHealth,
} from '../../../src/actors/providers/provider-health.ts';
import { systemClock } from '../../../src/std/clock.ts';

function healthOnClock() {
  let nowMs = 0;
  const health = createProviderHealth({ ...systemClock, monotonicMs: () => nowMs });
  return {
    health,
    elapse(ms: number) {
      nowMs += ms;
    },
    /** How long it is left alone from now on. */
    coolsFor(): number {
      let ms = 0;
      while (!health.isHealthy('p')) {
        nowMs += 1_000;
        ms += 1_000;
      }
      return ms;
    },
  };
}

const FAILED = { healthy: false };

describe('a provider that fails', () => {
  test('is left alone longer each time, up to a bound', () => {
    const { health, coolsFor } = healthOnClock();
    const waits = Array.from({ length: 8 }, () => {
      health.met('p', FAILED);
      return coolsFor();
    });
    expect(waits.slice(0, 3)).toEqual([30_000, 60_000, 120_000]);
    expect(waits.slice(-2)).toEqual([COOL_DOWN_MAX_MS, COOL_DOWN_MAX_MS]);
  });

  test('is not worse off when many turns fail at once', () => {
    const { health, coolsFor } = healthOnClock();
    for (let n = 0; n < 100; n += 1) health.met('p', FAILED);
    expect(coolsFor()).toBe(COOL_DOWN_FIRST_MS);
  });

  test('is left alone as long as it asks to be, within the bound', () => {
    const { health, coolsFor } = healthOnClock();
    health.met('p', { healthy: false, retryAfterMs: 90_000 });
    expect(coolsFor()).toBe(90_000);
    health.met('p', { healthy: false, retryAfterMs: 24 * 60 * 60 * 1000 });
    expect(coolsFor()).toBe(COOL_DOWN_MAX_MS);
  });

  test('is tried by one turn when its time is over', () => {
    const { health, elapse } = healthOnClock();
    health.met('p', FAILED);
    elapse(COOL_DOWN_FIRST_MS);
    expect(health.isHealthy('p')).toBe(true);
    health.sent('p');
    expect(health.isHealthy('p')).toBe(false);
    health.met('p', { healthy: true });
    expect(health.isHealthy('p')).toBe(true);
  });

  test('is tried by another turn when the first never tells', () => {
    const { health, elapse, coolsFor } = healthOnClock();
    health.met('p', FAILED);
    elapse(COOL_DOWN_FIRST_MS);
    health.sent('p');
    expect(coolsFor()).toBe(60_000);
  });

  test('starts anew after a success', () => {
    const { health, coolsFor } = healthOnClock();
    health.met('p', FAILED);
    coolsFor();
    health.met('p', FAILED);
    health.met('p', { healthy: true });
    expect(health.isHealthy('p')).toBe(true);
    health.met('p', FAILED);
    expect(coolsFor()).toBe(COOL_DOWN_FIRST_MS);
  });
});

describe('a list of models that can be had', () => {
  test('says nothing of a provider that fails its turns', () => {
    const { health, elapse, coolsFor } = healthOnClock();
    health.met('p', { healthy: false, retryAfterMs: 90_000 });
    elapse(10_000);
    health.listed('p', true);
    expect(coolsFor()).toBe(80_000);
    health.met('p', FAILED);
    health.listed('p', true);
    expect(coolsFor()).toBe(2 * COOL_DOWN_FIRST_MS);
  });

  test('brings a provider back whose list could not be had since', () => {
    const { health, coolsFor } = healthOnClock();
    health.met('p', FAILED);
    health.listed('p', false);
    health.listed('p', true);
    expect(health.isHealthy('p')).toBe(true);
    health.listed('p', false);
    expect(health.isHealthy('p')).toBe(false);
    expect(coolsFor()).toBe(COOL_DOWN_FIRST_MS);
    health.met('p', FAILED); // A turn that was sent now: it is back, and fails.
    health.listed('p', true);
    expect(health.isHealthy('p')).toBe(false);
  });
});

test('a healthy provider is not held up by being asked', () => {
  const { health } = healthOnClock();
  health.sent('p');
  expect(health.isHealthy('p')).toBe(true);
});
