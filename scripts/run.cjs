// Starts a TypeScript entry point: `node scripts/run.cjs <file.ts> [arguments]`. Plain JavaScript, so that a Node that is
// too old to read TypeScript gets a clear line instead of a stack trace. The entry point sees the arguments as its own.

'use strict';

const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { keepCompiled, useCompileCache } = require('./compile-cache.cjs');

const NODE_MAJOR_MIN = 24;

if (Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN) {
  process.stderr.write(
    `troupe: Node ${NODE_MAJOR_MIN} or newer is needed, and this is ${process.version}. ` +
      'Start it through npm (npm start), which installs and uses the right one.\n',
  );
  process.exit(1);
}

const [node, , file, ...rest] = process.argv;
if (file === undefined) {
  process.stderr.write('usage: node scripts/run.cjs <file.ts> [arguments]\n');
  process.exit(2);
}
const entry = path.resolve(file);
process.argv = [node, entry, ...rest];
useCompileCache();
// A failure is left unhandled, as if the file had been started directly: Node prints it and exits with 1.
void import(pathToFileURL(entry).href).then(() => keepCompiled());
