// Kernel: the actor kernel beside what one would use without it, and beside its peers. One file a question in `kernel/`, each
// answered in a process of its own; who is compared is measured in the same one, round by round (kernel/harness.ts).
//
// `npm run bench -- kernel [--rounds 9] [--quick] [--only tell,ask] [--no-peers]`

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { installPeers } from './kernel/peers.ts';
import { QUESTIONS } from './kernel/questions.ts';
import type { BenchReport, Figure } from './report.ts';

const ROUNDS_DEFAULT = 9;
const ROUNDS_QUICK = 3;

export async function benchKernel(args: readonly string[]): Promise<BenchReport> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: QUESTIONS.join(',') },
      'no-peers': { type: 'boolean', default: false },
    },
    allowNegative: false,
  });
  const rounds = Number(values.rounds ?? (values.quick ? ROUNDS_QUICK : ROUNDS_DEFAULT));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a number above 0');
  const questions = values.only.split(',');
  const unknown = questions.filter((name) => !QUESTIONS.includes(name));
  if (unknown.length > 0)
    throw new Error(`--only knows ${QUESTIONS.join(', ')}; it does not know ${unknown.join(', ')}`);
  const peers = values['no-peers'] ? [] : installPeers();
  const loadBefore = load();
  const figures: Figure[] = [];
  for (const name of questions) {
    console.error(`Measuring ${name} …`);
    figures.push(...(await answer(name, rounds, values.quick, values['no-peers'])));
  }
  return {
    figures,
    conditions: [
      `${rounds} rounds, interleaved, after ${values.quick ? 1 : 2} that are not counted; figures are medians of the rounds. ` +
        'A ratio is taken within each round.',
      peers.length === 0 ? 'Peers: none' : `Peers: ${peers.join(', ')}`,
      `Load of the machine (1, 5, 15 minutes): ${loadBefore} before, ${load()} after.`,
      ...(values.quick ? ['A smoke run: these figures say nothing.'] : []),
    ],
    notMeasured: [
      'messages larger than a few members, and messages that hold bytes',
      'more than one worker thread, and mail from worker to worker',
      'streams, timers and watches',
      'a pool of actors: the row of pool tasks is one actor on a thread that is asked',
      'deaths by heap limit or endless loop: threads are terminated from outside',
      'memory outside of the JavaScript heap, and what a worker thread occupies',
      'the heap policy of the service (src/heap-policy.ts): these processes run with the defaults of Node',
    ],
    isKept: !values.quick && questions.length === QUESTIONS.length,
  };
}

async function answer(
  name: string,
  rounds: number,
  isQuick: boolean,
  withoutPeers: boolean,
): Promise<readonly Figure[]> {
  const child = fork(
    new URL('./kernel/question-process.ts', import.meta.url),
    [name, String(rounds), isQuick ? 'quick' : 'full', withoutPeers ? 'no-peers' : 'peers'],
    { execArgv: ['--expose-gc'] },
  );
  const exited = once(child, 'exit');
  const answered = once(child, 'message') as Promise<[readonly Figure[]]>;
  const figures = await Promise.race([answered.then(([message]) => message), exited.then(() => null)]);
  await exited;
  if (figures === null) throw new Error(`the question ${name} was not answered`);
  return figures;
}

function load(): string {
  return loadavg()
    .map((one) => one.toFixed(1))
    .join(', ');
}
