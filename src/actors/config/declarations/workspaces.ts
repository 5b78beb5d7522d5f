// Settings of workspaces: how much of the disk they may take.

import { integer, operatorOnly } from '../setting.ts';

const MEGABYTE = 1024 * 1024;
const BOUNDS = { minimum: 1, maximum: 1024 * 1024 * MEGABYTE };

export const workspaceSettings = operatorOnly({
  'workspaces.file_bytes_max': integer(50 * MEGABYTE, BOUNDS, 'Largest file that is taken by upload.', {
    unit: 'bytes',
  }),
  'workspaces.quota_bytes': integer(512 * MEGABYTE, BOUNDS, 'How much one workspace may hold.', {
    unit: 'bytes',
  }),
});
