// Admission: bounds, fairness and the order of turns, on examples and on whatever comes in whatever order.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Admission, type Limits } from '../../../src/actors/runs/admission.ts';

const ROOMY: Limits = { liveMax: 100, queueMax: 100 };

/** Lets in an accepted turn, in a conversation of its own unless one is named. */
function arrive(admission: Admission, runId: string, userId = 'ada', conversation = runId): void {
  admission.add({ runId, userId, conversation });
  admission.accepted(runId);
}

function begin(admission: Admission): string[] {
  const begun: string[] = [];
  for (let turn = admission.next(); turn !== undefined; turn = admission.next()) begun.push(turn.runId);
  return begun;
}

describe('the admission', () => {
  test('begins turns up to the limit, and one for each that leaves', () => {
    const admission = new Admission({ liveMax: 2, queueMax: 10 });
    for (const id of ['a', 'b', 'c', 'd']) arrive(admission, id);
    expect(begin(admission)).toEqual(['a', 'b']);
    expect([admission.liveCount, admission.waitingCount, admission.waitsFor('c')]).toEqual([2, 2, 'place']);
    admission.leave('a');
    expect(begin(admission)).toEqual(['c']);
  });

  test('begins none that is not accepted yet, and those that are in spite of it', () => {
    const admission = new Admission(ROOMY);
    admission.add({ runId: 'a', userId: 'ada', conversation: 'x' });
    arrive(admission, 'b');
    expect(begin(admission)).toEqual(['b']);
    admission.accepted('a');
    expect(begin(admission)).toEqual(['a']);
  });

  test('keeps the turns of a conversation apart and in order, and nobody else waits for them', () => {
    const admission = new Admission({ liveMax: 2, queueMax: 10 });
    for (const id of ['a1', 'a2', 'a3']) arrive(admission, id, 'ada', 'a');
    arrive(admission, 'b1', 'ada', 'b');
    expect(begin(admission)).toEqual(['a1', 'b1']);
    expect([admission.waitsFor('a2'), admission.waitsFor('a1')]).toEqual(['conversation', null]);
    admission.leave('b1');
    expect(begin(admission)).toEqual([]);
    admission.leave('a1');
    expect(begin(admission)).toEqual(['a2']);
  });

  test('serves users in turn, however many one of them has waiting', () => {
    const admission = new Admission({ liveMax: 0, queueMax: 100 });
    for (const id of ['a1', 'a2', 'a3', 'a4']) arrive(admission, id, 'ada');
    for (const id of ['b1', 'b2']) arrive(admission, id, 'bob');
    arrive(admission, 'c1', 'eve');
    admission.limits = ROOMY;
    expect(begin(admission)).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4']);
  });

  test('lets a turn that was put back begin before the others of its user', () => {
    const admission = new Admission(ROOMY);
    arrive(admission, 'a');
    expect(begin(admission)).toEqual(['a']);
    arrive(admission, 'b');
    admission.putBack('a');
    expect(begin(admission)).toEqual(['a', 'b']);
  });

  test('holds the conversation of a turn that is being cancelled until it has left', () => {
    const admission = new Admission({ liveMax: 1, queueMax: 10 });
    for (const id of ['a1', 'a2']) arrive(admission, id, 'ada', 'a');
    admission.withdraw('a1');
    expect(begin(admission)).toEqual([]);
    admission.leave('a1');
    expect(begin(admission)).toEqual(['a2']);
  });

  test('has room for who would begin at once, though as many wait as may', () => {
    const admission = new Admission({ liveMax: 2, queueMax: 1 });
    for (const id of ['a1', 'a2']) arrive(admission, id, 'ada', 'a');
    expect([admission.fits('a'), admission.fits('b')]).toEqual([false, true]);
    arrive(admission, 'b1', 'ada', 'b');
    expect(admission.fits('c')).toBe(false);
  });

  test('takes a lower limit at its next occasion, and a higher one at once', () => {
    const admission = new Admission({ liveMax: 3, queueMax: 10 });
    for (const id of ['a', 'b', 'c', 'd', 'e']) arrive(admission, id);
    expect(begin(admission)).toEqual(['a', 'b', 'c']);
    admission.limits = { liveMax: 1, queueMax: 10 };
    for (const id of ['a', 'b']) admission.leave(id);
    expect(begin(admission)).toEqual([]);
    admission.limits = { liveMax: 3, queueMax: 10 };
    expect(begin(admission)).toEqual(['d', 'e']);
  });

  test('begins none once it is closed, and lets nobody in', () => {
    const admission = new Admission(ROOMY);
    arrive(admission, 'a');
    admission.close();
    expect([begin(admission), admission.fits('b')]).toEqual([[], false]);
  });
});

const user = fc.constantFrom('ada', 'bob', 'eve');
const pick = fc.nat();
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('arrive' as const), user, conversation: fc.nat(6) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('accept' as const), pick }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('begin' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('putBack' as const), pick }) },
);

interface ModelTurn {
  readonly runId: string;
  readonly userId: string;
  readonly conversation: string;
  stage: 'accepting' | 'waiting' | 'live';
}

const seed = Number(process.env['TEST_SEED'] ?? Date.now());
console.info(`seed ${seed}`);

test('whatever happens: the bounds hold, a conversation has one turn, in order, and all have theirs in the end', () => {
  const limitsOf = fc.record({ liveMax: fc.integer({ min: 1, max: 4 }), queueMax: fc.nat(8) });
  fc.assert(
    fc.property(limitsOf, fc.array(step, { maxLength: 120 }), (limits, steps) => {
      const admission = new Admission(limits);
      /** In the order of their arrival. */
      let turns: ModelTurn[] = [];
      const chosen = (index: number, stage: ModelTurn['stage']): ModelTurn | undefined => {
        const those = turns.filter((turn) => turn.stage === stage);
        return those[index % Math.max(1, those.length)];
      };
      /** Accepted, and nobody is before it in its conversation. */
      const mayBegin = (): ModelTurn[] =>
        turns.filter(
          (turn, i) =>
            turn.stage === 'waiting' &&
            !turns.slice(0, i).some(({ conversation }) => conversation === turn.conversation),
        );
      const leave = ({ runId }: ModelTurn): void => {
        admission.leave(runId);
        turns = turns.filter((turn) => turn.runId !== runId);
      };
      const beginOne = (): boolean => {
        const free = turns.filter(({ stage }) => stage === 'live').length < limits.liveMax;
        const expected = free ? mayBegin().map(({ runId }) => runId) : [];
        const begun = admission.next();
        if (begun === undefined) expect(expected).toEqual([]);
        else expect(expected).toContain(begun.runId);
        const turn = turns.find(({ runId }) => runId === begun?.runId);
        if (turn !== undefined) turn.stage = 'live';
        return turn !== undefined;
      };

      for (const [i, one] of steps.entries()) {
        switch (one.kind) {
          case 'arrive': {
            const turn = { runId: `r${i}`, userId: one.user, conversation: `c${one.conversation}` };
            if (!admission.fits(turn.conversation)) break;
            admission.add(turn);
            turns.push({ ...turn, stage: 'accepting' });
            break;
          }
          case 'accept': {
            const turn = chosen(one.pick, 'accepting');
            if (turn === undefined) break;
            turn.stage = 'waiting';
            admission.accepted(turn.runId);
            break;
          }
          case 'begin':
            beginOne();
            break;
          case 'finish': {
            const turn = chosen(one.pick, 'live');
            if (turn !== undefined) leave(turn);
            break;
          }
          case 'cancel': {
            const turn = chosen(one.pick, 'waiting');
            if (turn === undefined) break;
            admission.withdraw(turn.runId);
            leave(turn);
            break;
          }
          case 'putBack': {
            const turn = chosen(one.pick, 'live');
            if (turn === undefined) break;
            turn.stage = 'waiting';
            admission.putBack(turn.runId);
            break;
          }
        }
        const liveCount = turns.filter(({ stage }) => stage === 'live').length;
        expect([admission.liveCount, admission.waitingCount]).toEqual([liveCount, turns.length - liveCount]);
        expect(liveCount).toBeLessThanOrEqual(limits.liveMax);
        expect(turns.length).toBeLessThanOrEqual(limits.liveMax + limits.queueMax);
        expect(admission.conversationCount).toBe(new Set(turns.map(({ conversation }) => conversation)).size);
      }

      for (const { runId } of turns) admission.accepted(runId);
      for (const turn of turns) if (turn.stage === 'accepting') turn.stage = 'waiting';
      while (turns.length > 0) {
        while (beginOne());
        const live = chosen(0, 'live');
        expect(live).toBeDefined();
        if (live !== undefined) leave(live);
      }
      expect([admission.liveCount, admission.waitingCount, admission.conversationCount]).toEqual([0, 0, 0]);
    }),
    { seed, numRuns: 300 },
  );
});

test('whoever waits: no user is ahead of another who waits, too, by more than one turn', () => {
  const counts = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(counts, fc.integer({ min: 1, max: 3 }), (turnsOf, liveMax) => {
      const admission = new Admission({ liveMax, queueMax: 1_000 });
      for (const [i, count] of turnsOf.entries()) {
        for (let n = 0; n < count; n += 1) arrive(admission, `${i}-${n}`, `user ${i}`);
      }
      const served = turnsOf.map(() => 0);
      for (let turn = admission.next(); turn !== undefined; turn = admission.next()) {
        const index = Number(turn.userId.slice(5));
        served[index] = (served[index] ?? 0) + 1;
        const waiting = served.filter((count, i) => count < (turnsOf[i] ?? 0));
        expect(Math.max(...served) - Math.min(...waiting, Math.max(...served))).toBeLessThanOrEqual(1);
        admission.leave(turn.runId);
      }
      expect(served).toEqual(turnsOf);
    }),
    { seed, numRuns: 200 },
  );
});
