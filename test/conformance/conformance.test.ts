// The quick scenarios of the official conformance package; `npm run conformance` runs them all.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CLIENT_SCENARIOS, type Scenario, SERVER_SCENARIOS } from './scenarios.ts';
import { openSuite, type Suite } from './suite.ts';

/** Each scenario is three processes, one after the other. */
const PATIENCE_MS = 180_000;
let suite: Suite;
beforeAll(async () => {
  suite = await openSuite();
}, PATIENCE_MS);
afterAll(() => suite[Symbol.asyncDispose]());

const quick = (scenarios: readonly Scenario[]) =>
  scenarios.filter(({ isQuick }) => isQuick).map(({ name }) => name);

describe('as a client', () => {
  test.each(quick(CLIENT_SCENARIOS))(
    '%s',
    async (name) => {
      const { isGood, complaints, output } = await suite.client(name);
      expect(complaints, output).toEqual([]);
      expect(isGood, output).toBe(true);
    },
    PATIENCE_MS,
  );
});

describe('as a server', () => {
  test.each(quick(SERVER_SCENARIOS))(
    '%s',
    async (name) => {
      const { isGood, complaints, output } = await suite.server(name);
      expect(complaints, output).toEqual([]);
      expect(isGood, output).toBe(true);
    },
    PATIENCE_MS,
  );
});
