// Keeps what Node makes of a source file: JavaScript without types, and V8's compiled code. Once it is there, no thread loads
// Node's own stripper of types again, which is WebAssembly, compiled and instantiated in each. A start then takes two thirds of
// the time, a process of five threads 40 MB less, and a new thread half the time. It is also what keeps a process alive: V8 13.6
// aborts ("Check failed: jit_page.has_value()") at about one in 1,500 threads that are ended while that WebAssembly runs.
//
// K1 It lies in node_modules, as private as the code itself, and goes with it. Node checks each entry against its source.
// K2 Where it cannot be written, everything works without.
// K3 Worker threads and child processes find it by the environment. Whoever set NODE_COMPILE_CACHE, or
//    NODE_DISABLE_COMPILE_CACHE, is left alone.

'use strict';

const { enableCompileCache, flushCompileCache, getCompileCacheDir } = require('node:module');
const path = require('node:path');

const FOLDER = path.join(path.dirname(__dirname), 'node_modules', '.cache', 'compiled');

/** For this process, from here on, and for all that it starts. */
function useCompileCache() {
  enableCompileCache(process.env.NODE_COMPILE_CACHE ?? FOLDER);
  if (getCompileCacheDir() !== undefined) process.env.NODE_COMPILE_CACHE ??= FOLDER;
}

/** Writes what is new. Node does so when a process exits, and a killed one does not. */
module.exports = { useCompileCache, keepCompiled: flushCompileCache };
