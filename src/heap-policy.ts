// HeapPolicy: keeps the process small. Imported first by main.ts, before there is a second heap; a host that embeds Troupe
// keeps its own policy.
//
// V8 lets a heap grow to several times of what is alive before it collects, and gives each thread young generations of
// 3 × 16 MB. With four threads that is most of the process: 490 MB after 300 runs of 100 tokens, with some 25 to 40 MB
// alive on each thread. With the values below it is about 280 MB, for 5 % fewer runs per second at 100 at a time
// (`npm run bench -- runs`; `--optimize-for-size` would save 20 MB more and cost 15 %).

import { setFlagsFromString } from 'node:v8';

/** Collect when a heap has grown by this much since the last time. */
setFlagsFromString('--heap-growing-percent=30');
setFlagsFromString('--max-semi-space-size=2');
setFlagsFromString('--semi-space-growth-factor=1');
