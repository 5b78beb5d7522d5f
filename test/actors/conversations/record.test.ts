import { describe, expect, test } from 'vitest';
import type { NewRow } from '../../../src/actors/conversations/protocol.ts';
import {
  type ConversationRecord,
  keptRow,
  newRecord,
  parseMetaChange,
  ROW_CONTENT_LENGTH_MAX,
  viewRecord,
  withRows,
} from '../../../src/actors/conversations/record.ts';

const T0 = Date.UTC(2026, 6, 14, 4, 18, 14, 34);

function recordOf(...rows: readonly Partial<NewRow>[]): ConversationRecord {
  const kept = rows.map((row) => keptRow({ role: 'user', content: '', atMs: T0, ...row }));
  return withRows(newRecord(0, '_global', T0), kept);
}

describe('the row of the list', () => {
  test('is titled by the first 80 characters of the first user message', () => {
    const short = viewRecord('c', recordOf({ content: 'hello' }, { role: 'assistant', content: 'good day' }));
    expect(short.title).toBe('hello');
    const long = viewRecord('c', recordOf({ content: 'a'.repeat(81) }));
    expect(long.title).toBe(`${'a'.repeat(80)}…`);
  });

  test('passes over a first message without text', () => {
    const record = recordOf(
      { content: ' ' },
      { role: 'assistant', content: 'a cat' },
      { content: 'which breed?' },
    );
    expect(viewRecord('c', record).title).toBe('which breed?');
    expect(viewRecord('c', recordOf({ content: '' })).title).toBe('New Conversation');
  });

  test("keeps the user's own title whatever is said later", () => {
    const renamed = { ...recordOf({ content: 'hello' }), title: 'Mine' };
    expect(
      viewRecord('c', withRows(renamed, [keptRow({ role: 'user', content: 'x', atMs: T0 })])).title,
    ).toBe('Mine');
  });

  test('previews the first 120 characters of the last row, of whatever role', () => {
    const record = recordOf({ content: 'hello' }, { role: 'tool_result', content: 'b'.repeat(200) });
    expect(viewRecord('c', record).preview).toBe(`${'b'.repeat(120)}…`);
    expect(viewRecord('c', record).last_message).toBe('b'.repeat(200));
  });

  test('never cuts a character in two', () => {
    expect(viewRecord('c', recordOf({ content: `${'a'.repeat(79)}😀😀` })).title).toBe(`${'a'.repeat(79)}…`);
    expect(viewRecord('c', recordOf({ content: `${'a'.repeat(78)}😀😀` })).title).toBe(
      `${'a'.repeat(78)}😀…`,
    );
  });

  test('counts tool rows too and tells times with microseconds and offset', () => {
    const row = viewRecord(
      'c',
      recordOf({}, { role: 'tool_call' }, { role: 'tool_result', atMs: T0 + 1000 }),
    );
    expect(row).toMatchObject({
      conversation_id: 'c',
      message_count: 3,
      created_at: '2026-07-14T04:18:14.034000+00:00',
      last_message_at: '2026-07-14T04:18:15.034000+00:00',
      archived: false,
      channel: '_global',
      workspace_id: null,
    });
  });

  test('does not go back in time with the clock', () => {
    const later = recordOf({ atMs: T0 + 5000 });
    expect(withRows(later, [keptRow({ role: 'user', content: 'x', atMs: T0 })]).lastActivityMs).toBe(
      T0 + 5000,
    );
  });
});

test('content beyond the bound is cut and says so', () => {
  const { content } = keptRow({ role: 'user', content: 'x'.repeat(ROW_CONTENT_LENGTH_MAX + 7), atMs: T0 });
  expect(content.slice(ROW_CONTENT_LENGTH_MAX)).toBe('\n[7 more characters were not kept]');
});

describe('a change of metadata', () => {
  test('takes a title, archived, or both', () => {
    expect(parseMetaChange({ title: '  New name ' })).toEqual({ title: 'New name' });
    expect(parseMetaChange({ archived: false })).toEqual({ archived: false });
    expect(parseMetaChange({ title: 'x', archived: true })).toEqual({ title: 'x', archived: true });
    expect(parseMetaChange({ title: null, archived: true })).toEqual({ archived: true });
  });

  test('allows 200 characters, however many units they need', () => {
    expect(parseMetaChange({ title: '😀'.repeat(200) }).title).toBe('😀'.repeat(200));
  });

  test.each([
    {},
    { title: '' },
    { title: '   ' },
    { title: 'x'.repeat(201) },
    { title: 7 },
    { archived: 'yes' },
    { archived: 1 },
    { title: null },
    { title: 'good', archived: 'bad' },
    { title: '', archived: true },
  ])('is refused as a whole: %j', (fields) => {
    expect(() => parseMetaChange(fields)).toThrow(expect.objectContaining({ code: 'conversation_invalid' }));
  });
});
