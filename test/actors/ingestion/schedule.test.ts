import { describe, expect, test } from 'vitest';
import { Schedule } from '../../../src/actors/ingestion/schedule.ts';
import type { PendingDocument } from '../../../src/actors/workspaces/protocol.ts';
import { pendingDocument } from '../../support/pending-document.ts';

function pending(workspace_id: string, document_id: string, revision = 1): PendingDocument {
  return pendingDocument({ workspace_id, document_id, revision });
}

function begun(schedule: Schedule, nowMs = 0): string | undefined {
  return schedule.begin(nowMs)?.document.document_id;
}

describe('the schedule', () => {
  test('lets workspaces take turns, each with its oldest document', () => {
    const schedule = new Schedule();
    const many = Array.from({ length: 50 }, (_, i) => pending('a', `a${i}`));
    schedule.setPending([...many, pending('b', 'b0'), pending('b', 'b1')]);
    expect(Array.from({ length: 6 }, () => begun(schedule))).toEqual(['a0', 'b0', 'a1', 'b1', 'a2', 'a3']);
  });

  test('takes the Homes of two users for two workspaces', () => {
    const schedule = new Schedule();
    const [one, two, other] = [pending('ws_home', '1'), pending('ws_home', '2'), pending('ws_home', '3')];
    schedule.setPending([one, two, { ...other, user_id: 'else' }]);
    expect([begun(schedule), begun(schedule), begun(schedule)]).toEqual(['1', '3', '2']);
  });

  test('reads a document once at a time, and stops for a newer revision of it', () => {
    const schedule = new Schedule();
    schedule.setPending([pending('a', '1')]);
    const reading = schedule.begin(0);
    expect(begun(schedule)).toBeUndefined();
    schedule.setPending([pending('a', '1', 2)]);
    expect(reading?.controller.signal.aborted).toBe(true);
    expect(begun(schedule)).toBeUndefined();
    if (reading) schedule.end(reading);
    expect(schedule.begin(0)?.document.revision).toBe(2);
  });

  test('puts off what failed for now, each time longer, and forgets that with the next revision', () => {
    const schedule = new Schedule();
    schedule.setPending([pending('a', '1'), pending('a', '2')]);
    const first = schedule.begin(0);
    if (!first) throw new Error('nothing has begun');
    const delayMs = schedule.delay(first, 0);
    expect(begun(schedule)).toBe('2');
    expect(begun(schedule, delayMs - 0.5)).toBeUndefined();
    expect(schedule.delayLeftMs(delayMs - 0.5)).toBe(0.5);
    expect(schedule.delayLeftMs(delayMs)).toBeNull();
    const again = schedule.begin(delayMs);
    expect(again?.document.document_id).toBe('1');
    if (again) expect(schedule.delay(again, delayMs)).toBe(2 * delayMs);
    schedule.setPending([pending('a', '1', 2)]);
    expect(begun(schedule, delayMs)).toBe('1');
  });
});
