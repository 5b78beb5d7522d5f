import { spawn, spawnSync } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { folderOfThisTest, processOf } from '../support/storage.ts';

// A small disk of its own takes the right to mount one, in a namespace of the process's own.
const ISOLATE = 'unshare';
const MOUNT = 'mount -t tmpfs -o size=4m tmpfs "$1"';
const canMount = spawnSync(ISOLATE, ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=4m tmpfs /mnt']).status === 0;

async function reportOf(script: URL): Promise<Readonly<Record<string, unknown>>> {
  const directory = await folderOfThisTest();
  const path = fileURLToPath(script);
  const command = `${MOUNT} && exec "$2" "$3" "$1"`;
  const parameters = ['-rm', 'sh', '-c', command, 'sh', directory, process.execPath, path];
  const child = spawn(ISOLATE, parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  const complaints = text(child.stderr);
  const { lines } = processOf(child);
  const { value } = await lines().next();
  // The engine itself prints what it could not write, in a way that may end the process: it must not come to that.
  expect(await complaints).toBe('');
  return JSON.parse(value as string) as Readonly<Record<string, unknown>>;
}

test.skipIf(!canMount)(
  'a full disk is a fault that may pass: nothing is lost, and freed space is used',
  async () => {
    const report = await reportOf(new URL('../support/storage-full-disk-process.ts', import.meta.url));
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

test.skipIf(!canMount)('journals that fill the disk may expire, and leave their room to others', async () => {
  const report = await reportOf(new URL('../support/storage-full-log-process.ts', import.meta.url));
  const { written, expired } = report as { readonly written: number; readonly expired: number };
  expect(expired).toBeGreaterThan(10);
  expect(report).toEqual({
    written,
    expired,
    failure: 'storage_full',
    left: written - expired,
    isWhole: true,
  });
});
