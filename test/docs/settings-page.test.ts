import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { SETTINGS_PAGE, settingsPage } from '../../scripts/settings-page.ts';
import { SETTING_KEYS } from '../../src/actors/config/settings.ts';

test('docs/settings.md says what the declarations say; `npm run docs` writes it', async () => {
  expect(await readFile(SETTINGS_PAGE, 'utf8')).toBe(settingsPage());
});

test('every setting is on the page, once', () => {
  const keys = [...settingsPage().matchAll(/^\| \**`([a-z_.]+)`\** \|/gm)].map(([, key]) => key);
  expect(keys.toSorted()).toEqual([...SETTING_KEYS].toSorted());
});
