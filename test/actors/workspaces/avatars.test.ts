import { expect, test } from 'vitest';
import { unusedAvatars } from '../../../src/actors/workspaces/avatars.ts';

const file = (documentId: string, filename: string, workspaceId = 'ws_home') => ({
  documentId,
  record: { filename, workspaceId },
});
const FILES = [
  file('used', 'avatars/ada.png'),
  file('unused', 'avatars/old.png'),
  file('elsewhere', 'avatars/ada.png', 'ws_1'),
  file('other', 'notes/avatars.md'),
];

test('of the avatars those are unused that nobody names, where they lie', () => {
  expect(unusedAvatars(FILES, new Set(['media:ws_home/used', 'media:ws_home/elsewhere']))).toEqual([
    'unused',
    'elsewhere',
  ]);
});

test('as long as nobody can be asked none is unused', () => {
  expect(unusedAvatars(FILES, null)).toEqual([]);
  expect(unusedAvatars(FILES, new Set())).toEqual(['used', 'unused', 'elsewhere']);
});
