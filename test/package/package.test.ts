// The package as other hosts embed it: plain JavaScript and types, nothing of the checkout's tooling.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { importsOf, readExamples } from '../support/kernel-guide.ts';
import { type InstalledPackage, openInstalledPackage } from './installed-package.ts';

const INSTALL_MS_MAX = 300_000;

describe('the packed package', () => {
  let troupe: InstalledPackage;
  beforeAll(async () => {
    troupe = await openInstalledPackage();
  }, INSTALL_MS_MAX);
  afterAll(() => troupe?.remove());

  test('holds the built modules with their types and maps, and no source, test or script', async () => {
    const files = await troupe.files();
    expect(files).toEqual(
      expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'dist/index.js.map', 'package.json']),
    );
    expect(
      files.filter(
        (file) => !/^dist\/.*[.](js|d[.]ts|js[.]map)$|^package[.]json$|^README|^LICENSE/.test(file),
      ),
    ).toEqual([]);
  });

  test('starts the service from a plain module, which ends by itself after the stop', async () => {
    const { stdout } = await troupe.runModule(`
      import { mkdtemp, rm } from 'node:fs/promises';
      import { createTroupe } from 'troupe';
      const dataDir = await mkdtemp('data-');
      const troupe = await createTroupe({ dataDir, port: 0 });
      console.log(troupe.url);
      const response = await fetch(new URL('/api/version', troupe.url));
      console.log(response.status, JSON.stringify(await response.json()));
      await troupe.stop();
      await rm(dataDir, { recursive: true });
    `);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/?$/m);
    expect(stdout).toMatch(/^200 \{.*"version":/m);
  });

  test('offers the actor kernel by itself, without the service', async () => {
    const { stdout } = await troupe.runModule(`
      import { actor, call, createActorSystem, protocol } from 'troupe/actors';
      console.log([actor, call, createActorSystem, protocol].map((one) => typeof one).join());
    `);
    expect(stdout.trim()).toBe('function,function,function,function');
  });

  test('offers every name that the guide to the kernel imports', async () => {
    const guide = importsOf(await readExamples());
    expect([...guide.keys()].sort()).toEqual(['troupe/actors', 'troupe/actors/testkit']);
    const { stdout } = await troupe.runModule(`
      for (const entry of ${JSON.stringify([...guide.keys()])}) console.log(JSON.stringify([entry, Object.keys(await import(entry))]));
    `);
    for (const line of stdout.trim().split('\n')) {
      const [entry, names] = JSON.parse(line) as [string, string[]];
      expect(names, entry).toEqual(expect.arrayContaining([...(guide.get(entry) ?? [])]));
    }
  });

  test('tells its types to a host written in TypeScript', async () => {
    await troupe.checkTypes(`
      import { createTroupe } from 'troupe';
      import { type Ref, call, protocol } from 'troupe/actors';
      const troupe = await createTroupe({ dataDir: 'data', port: 0 });
      const url: string | null = troupe.url;
      // @ts-expect-error The address is no number: were the types not found, this would pass as any.
      const port: number = troupe.url;
      const counter = protocol('counter', { add: call<{ by: number }, number>() });
      export async function addOne(ref: Ref<typeof counter>): Promise<number> {
        // @ts-expect-error The message has a type of its own.
        await ref.ask('add', { by: 'one' });
        return ref.ask('add', { by: 1 });
      }
      await troupe.stop();
      export { port, url };
    `);
  });
});
