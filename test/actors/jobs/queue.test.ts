// The queue of jobs: fair between users, in order within one, one job of a conversation at a time.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JobQueue, type WaitingJob } from '../../../src/actors/jobs/queue.ts';

let numbers = 0;
const job = (userId: string, sessionId?: string): WaitingJob => {
  numbers += 1;
  return {
    jobId: `${userId}-${numbers}`,
    userId,
    sessionId: sessionId ?? `session ${numbers}`,
    number: numbers,
  };
};
const queueOf = (...jobs: readonly WaitingJob[]): JobQueue => {
  const queue = new JobQueue();
  for (const one of jobs) queue.add(one);
  return queue;
};
const takeAll = (queue: JobQueue): readonly WaitingJob[] => {
  const taken: WaitingJob[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
  return taken;
};

describe('the queue', () => {
  test('serves users in turn, each in the order of acceptance', () => {
    const [a1, a2, a3, b1, c1, c2] = [job('a'), job('a'), job('a'), job('b'), job('c'), job('c')];
    expect(takeAll(queueOf(a1, a2, a3, b1, c1, c2))).toEqual([a1, b1, c1, a2, c2, a3]);
  });

  test('lets a newcomer wait for one job of everybody else at most', () => {
    const queue = queueOf(...Array.from({ length: 40 }, () => job('a')));
    queue.take();
    const newcomer = job('b');
    queue.add(newcomer);
    expect([queue.take()?.userId, queue.take()]).toEqual(['a', newcomer]);
  });

  test('has one live job of a conversation; others pass by those that wait for it', () => {
    const [first, second, other] = [job('a', 'shared'), job('a', 'shared'), job('a')];
    const queue = queueOf(first, second, other);
    expect(takeAll(queue)).toEqual([first, other]);
    queue.end(other);
    expect(queue.take()).toBeUndefined();
    queue.end(first);
    expect(queue.take()).toEqual(second);
  });

  test('does not begin a job of a conversation that the last process left live', () => {
    const [live, next] = [job('a', 'shared'), job('b', 'shared')];
    const queue = queueOf(next);
    queue.addLive(live);
    expect(queue.take()).toBeUndefined();
    queue.end(live);
    expect(queue.take()).toEqual(next);
  });

  test('puts refused jobs back in their old places', () => {
    const [a1, a2, a3] = [job('a'), job('a'), job('a')];
    const queue = queueOf(a1, a2, a3);
    queue.take();
    queue.take();
    queue.putBack(a1);
    queue.putBack(a2);
    expect([queue.liveCount, queue.size]).toEqual([0, 3]);
    expect(takeAll(queue)).toEqual([a1, a2, a3]);
  });

  test('drops what waits, and nothing else', () => {
    const [live, waits] = [job('a'), job('a')];
    const queue = queueOf(live, waits);
    queue.take();
    expect(queue.drop('a', live.jobId)).toBeUndefined();
    expect(queue.drop('b', waits.jobId)).toBeUndefined();
    expect(queue.drop('a', waits.jobId)).toEqual(waits);
    expect([queue.take(), queue.size]).toEqual([undefined, 1]);
  });

  test('loses no job and begins none twice, whatever happens to it', () => {
    const steps = fc.array(
      fc.record({
        kind: fc.constantFrom('add', 'take', 'end', 'putBack', 'drop'),
        user: fc.nat({ max: 3 }),
        session: fc.nat({ max: 5 }),
      }),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(steps, (taken) => {
        const queue = new JobQueue();
        const waiting = new Map<string, WaitingJob>();
        const live = new Map<string, WaitingJob>();
        for (const { kind, user, session } of taken) {
          const [anyLive] = [...live.values()].slice(user);
          const [anyWaiting] = [...waiting.values()].slice(user);
          if (kind === 'add') {
            const added = job(`user ${user}`, `session ${session}`);
            queue.add(added);
            waiting.set(added.jobId, added);
          } else if (kind === 'take') {
            const next = queue.take();
            const sessions = new Set(Array.from(live.values(), ({ sessionId }) => sessionId));
            const mayBegin = [...waiting.values()].some(({ sessionId }) => !sessions.has(sessionId));
            expect(next !== undefined).toBe(mayBegin);
            if (next === undefined) continue;
            expect(sessions.has(next.sessionId)).toBe(false);
            const earlier = [...waiting.values()].filter(
              ({ userId, number, sessionId }) =>
                userId === next.userId && number < next.number && !sessions.has(sessionId),
            );
            expect(earlier).toEqual([]);
            expect(waiting.delete(next.jobId)).toBe(true);
            live.set(next.jobId, next);
          } else if (kind === 'drop' && anyWaiting !== undefined) {
            expect(queue.drop(anyWaiting.userId, anyWaiting.jobId)).toEqual(anyWaiting);
            waiting.delete(anyWaiting.jobId);
          } else if (anyLive !== undefined && (kind === 'end' || kind === 'putBack')) {
            queue[kind](anyLive);
            live.delete(anyLive.jobId);
            if (kind === 'putBack') waiting.set(anyLive.jobId, anyLive);
          }
          expect([queue.liveCount, queue.size]).toEqual([live.size, live.size + waiting.size]);
        }
      }),
    );
  });
});
