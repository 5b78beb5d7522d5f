import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { folderOfThisTest, processOf } from '../support/storage.ts';

// A small disk of its own takes the right to mount one, in a namespace of the process's own.
const ISOLATE = 'unshare';
const MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1"';
const canMount = spawnSync(ISOLATE, ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=4m tmpfs /mnt']).status === 0;

test.skipIf(!canMount)(
  'a full disk is a fault that may pass: nothing is lost, and freed space is used',
  async () => {
    const directory = await folderOfThisTest();
    const script = fileURLToPath(new URL('../support/storage-full-disk-process.ts', import.meta.url));
    const command = `${MOUNT} && exec "$2" "$3" "$1"`;
    const parameters = ['-rm', 'sh', '-c', command, 'sh', directory, process.execPath, script];
    const { lines } = processOf(spawn(ISOLATE, parameters, { stdio: ['ignore', 'pipe', 'ignore'] }));
    const { value } = await lines().next();
    const report = JSON.parse(value as string) as Record<string, unknown>;
    const written = report.written as number;
    expect(written).toBeGreaterThan(3);
    expect(report).toEqual({
      written,
      failure: 'storage_full true',
      again: 'storage_full true',
      rowsWhenFull: written * 4,
      seqWhenFull: written,
      readable: true,
      afterwards: 'done',
      rows: written * 4 - 24 + 4,
      seq: written + 1,
    });
  },
);
