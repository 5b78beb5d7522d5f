import { expect, test } from 'vitest';
import { catalogIds, renamedRefs, verifyRefs } from '../../../src/actors/aggregator/alias-migration.ts';
import { openAggregatorSystem } from './aggregator-system.ts';

const OLD = 'openrouter:anthropic/claude-sonnet-latest';
const NEW = 'openrouter:~anthropic/claude-sonnet-latest';
const CATALOG = ['~anthropic/claude-sonnet-latest', 'openai/gpt-4o', '~openai/gpt-4o'];

const ref = (current: string, location = 'planner.model') =>
  ({ store: 'config', location, label: 'A model', current }) as const;

test('only an id that the catalog knows with the tilde, and without it no more, is renamed', () => {
  const catalog = new Set(CATALOG);
  const stored = [
    OLD,
    'openrouter:openai/gpt-4o',
    NEW,
    'openrouter:gone/model',
    'openai:gpt-4o',
    'inherit',
    '',
  ];
  expect(
    renamedRefs(
      stored.map((current) => ref(current)),
      catalog,
    ),
  ).toEqual([{ ...ref(OLD), suggested: NEW }]);
});

test('an answer without a single id is no catalog', () => {
  expect(catalogIds({ data: [] })).toBeNull();
  expect(catalogIds({ data: [{ name: 'x' }, null, 7] })).toBeNull();
  expect(catalogIds('nothing')).toBeNull();
  expect(catalogIds({ data: [{ id: 'a/b' }, {}] })).toEqual(new Set(['a/b']));
});

test('only what a scan finds again is rewritten, each place once', () => {
  const found = { ...ref(OLD), suggested: NEW };
  const forged = { ...found, suggested: 'openrouter:~evil/model' };
  const elsewhere = { ...found, location: 'providers.openrouter.app_name' };
  expect(verifyRefs([found, found, forged, elsewhere], [found])).toEqual({
    confirmed: [found],
    refused: [
      { location: 'planner.model', error: 'this is not what a scan finds there now' },
      { location: 'providers.openrouter.app_name', error: 'this is not what a scan finds there now' },
    ],
  });
  expect(verifyRefs([found], null).confirmed).toEqual([]);
});

test('a scan finds settings and the stages of memory; a repair rewrites those that are handed back', async () => {
  const { aggregator, double, settings } = await openAggregatorSystem({
    'preferences.default_model': OLD,
    'models.roles.summarizer': OLD,
    extraction_model: OLD,
    'planner.model': 'openrouter:openai/gpt-4o',
  });
  double.list(CATALOG);
  const scan = await aggregator.ask('scanAliases', {});
  expect(scan).toMatchObject({ count: 3, catalog_available: true });
  expect(scan.refs).toContainEqual({
    store: 'memory_settings',
    location: 'extraction_model',
    label: 'Model that finds facts in a turn',
    current: OLD,
    suggested: NEW,
  });
  const [kept, ...handedBack] = scan.refs;
  expect(kept?.location).toBe('preferences.default_model');
  const locations = ['models.roles.summarizer', 'extraction_model'];
  expect(await aggregator.ask('migrateAliases', { refs: handedBack })).toEqual({
    applied: locations,
    failed: [],
    count: 2,
  });
  expect(await settings()).toMatchObject({
    'preferences.default_model': OLD,
    'models.roles.summarizer': NEW,
    extraction_model: NEW,
  });
  expect(await aggregator.ask('migrateAliases', { refs: handedBack })).toEqual({
    applied: [],
    failed: locations.map((location) => ({ location, error: 'this is not what a scan finds there now' })),
    count: 0,
  });
});

test('a catalog that cannot be had is not one without renames', async () => {
  const { aggregator, double, settings } = await openAggregatorSystem({ 'preferences.default_model': OLD });
  double.list(CATALOG);
  const { refs } = await aggregator.ask('scanAliases', {});
  double.answer('/models', { status: 503 });
  expect(await aggregator.ask('scanAliases', {})).toEqual({ count: 0, catalog_available: false, refs: [] });
  expect(await aggregator.ask('migrateAliases', { refs })).toEqual({
    applied: [],
    failed: [{ location: 'preferences.default_model', error: 'the catalog could not be asked' }],
    count: 0,
  });
  expect((await settings())['preferences.default_model']).toBe(OLD);
});
