// Questions: what the bench of the kernel asks, in the order of its table. Each is loaded by the process that answers it only.

import type { Contest, Size } from './harness.ts';

type Question = (size: Size) => readonly Contest[];

const questions: Readonly<Record<string, () => Promise<{ readonly question: Question }>>> = {
  tell: () => import('./tell.ts'),
  ask: () => import('./ask.ts'),
  'cross-thread-tell': () => import('./cross-thread-tell.ts'),
  'cross-thread-ask': () => import('./cross-thread-ask.ts'),
  pool: () => import('./pool.ts'),
  memory: () => import('./memory.ts'),
  spawn: () => import('./spawn.ts'),
  crash: () => import('./crash.ts'),
  'thread-loss': () => import('./thread-loss.ts'),
  fairness: () => import('./fairness.ts'),
  health: () => import('./health.ts'),
};

export const QUESTIONS: readonly string[] = Object.keys(questions);

export async function contestsOf(name: string, size: Size): Promise<readonly Contest[]> {
  const load = questions[name];
  if (load === undefined) throw new Error(`there is no question ${name}: ask ${QUESTIONS.join(', ')}`);
  return (await load()).question(size);
}
