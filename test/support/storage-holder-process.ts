// A process that opens a data folder as its primary, says so or why not, and holds it until it is killed.

import { isFault } from '../../src/std/errors.ts';
import { openStorage } from '../../src/storage/storage.ts';

const [, , directory = ''] = process.argv;
try {
  await openStorage({ directory, primary: true });
  console.log('open');
  setInterval(() => {}, 60_000);
} catch (error) {
  if (!isFault(error)) throw error;
  console.log(`${error.code}: ${error.message}`);
}
