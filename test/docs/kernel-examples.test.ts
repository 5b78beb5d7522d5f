// The examples of docs/kernel.md are whole programs: each is run as the guide shows it, and prints what the guide says.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ExampleFolder, openExampleFolder, readExamples } from '../support/kernel-guide.ts';

const examples = await readExamples();
const LINES_MAX = 35;

describe('an example of the guide to the kernel', () => {
  let folder: ExampleFolder;
  beforeAll(async () => {
    folder = await openExampleFolder(examples);
  });
  afterAll(() => folder?.remove());

  test.each(examples)('$file prints what the guide says, and ends by itself', async ({ file, prints }) => {
    expect(await folder.run(file)).toBe(prints);
  });

  test('is right in its types', () => folder.checkTypes(), 60_000);

  test('is one of at least ten, each with a name of its own and short', () => {
    expect(new Set(examples.map(({ file }) => file)).size).toBeGreaterThanOrEqual(10);
    const lengths = examples.map(({ file, source }) => `${file} ${source.trimEnd().split('\n').length}`);
    expect(lengths.filter((one) => Number(one.split(' ')[1]) > LINES_MAX)).toEqual([]);
  });
});
