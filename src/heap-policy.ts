// HeapPolicy: keeps the process small while little happens, and quick when much does. Imported first by main.ts, before there is a
// second heap; a host that embeds Troupe keeps its own policy.
//
// Outside the heaps, glibc gives each of some fourteen threads a pool of memory of its own. `npm start` lets them share two
// (MALLOC_ARENA_MAX), which must be said before the process begins: 15 to 20 MB less.
//
// V8 lets a heap grow to several times of what is alive before it collects, and gives each thread young generations of
// 3 × 16 MB. With four threads that is most of the process: 490 MB after 300 runs of 100 tokens, with some 25 to 40 MB
// alive on each thread. With the values below it is about 280 MB, for 5 % fewer runs per second at 100 at a time
// (`npm run bench -- runs`; `--optimize-for-size` would save 20 MB more and cost 15 %).
//
// A young generation of 1 MB is too small for hundreds of streams: what waits for its commit is still alive when it is full, is
// promoted, and must be found by the marker. With 600 runs at 12 events a second each, V8's helper threads took 18 to 26 µs an
// event, of 51 to 81 in all; where young generations may grow, 6 to 8 of 44 to 64. That is worth some 60 MB to a process that is
// big anyway, and not to an idle one. With thousands of streams 8 MB are too small again, for the same reason: each collection
// freed 3 of them. Up to 32 MB, 10,000 runs at two events a second (`npm run bench -- load`) reached their readers after 0.2 s
// instead of 1.4 s (p50; p99 1.1 s instead of 2.4 s), for 90 MB more. What helped most since is to make fewer objects that live
// from one event of a run to the next (std/pulled.ts, actors/runs/journal-writer.ts): then a collection finds 1 MB of 22 alive.

import { setFlagsFromString } from 'node:v8';
import { repeatUnreferenced } from './std/clock.ts';

/** More than the process has after some hundred runs; with less it would count as busy for ever, and grow to 450 MB. */
const BUSY_BYTES = 400 * 1024 * 1024;
const LOOK_INTERVAL_MS = 1_000;

/**
 * Young generations are collected by their own thread. Helpers wait for each other, and on two cores there is nobody to help: 10,000
 * runs at two events a second took 57 µs of processor time an event with them, and take 48 without.
 */
setFlagsFromString('--no-parallel-scavenge');
/**
 * One helper at most marks an old generation while JavaScript runs. Several take both cores from all threads for 0.2 to 0.4 s at a time,
 * and what arrives meanwhile waits: with 10,000 runs live the way from the model to the reader took 250 to 280 ms (p99) with them,
 * and takes 40 to 200 with one. With none it took 30 to 90, but threads that mark their own heaps between their events are so late
 * with it that 300 runs left 350 MB instead of 305, and 10,000 took 1.74 GB instead of 1.5.
 */
setFlagsFromString('--concurrent-marking-max-worker-num=1');
/** Collect when a heap has grown by this much since the last time. */
setFlagsFromString('--heap-growing-percent=30');
/** A bound, of threads to come. They begin with 1 MB, and stay there as long as the factor of their growth is 1. */
setFlagsFromString('--max-semi-space-size=32');
setFlagsFromString('--semi-space-growth-factor=1');

let mayGrow = false;
repeatUnreferenced(LOOK_INTERVAL_MS, () => {
  const isBusy = process.memoryUsage.rss() > BUSY_BYTES;
  if (isBusy === mayGrow) return;
  mayGrow = isBusy;
  setFlagsFromString(`--semi-space-growth-factor=${mayGrow ? 2 : 1}`);
});
