// QuestionProcess: answers one question in a process of its own, so that no question meets the heap and the compiled code
// that another one left behind. By hand: `node --expose-gc bench/kernel/question-process.ts tell 9`.

import type { Figure } from '../report.ts';
import { hold, type Size } from './harness.ts';
import { leavePeersOut } from './peers.ts';
import { contestsOf } from './questions.ts';

const [, , name = '', rounds = '9', ...words] = process.argv;
const size: Size = { rounds: Number(rounds), isQuick: words.includes('quick') };
if (words.includes('no-peers')) leavePeersOut();
const figures: Figure[] = [];
for (const contest of await contestsOf(name, size)) figures.push(...(await hold(contest, size)));
// Some peers keep their process alive after they were stopped, so it is ended once the answer is out.
if (process.send === undefined) {
  console.table(figures);
  process.exit();
} else process.send(figures, () => process.exit());
