import { describe, expect, test } from 'vitest';
import type { ActorRow, RuntimeSnapshot } from '../../src/actors/runtime/protocol.ts';
import { Picture } from '../../src/top/picture.ts';
import { type Line, reportLines, screenLines } from '../../src/top/screen.ts';

const STATUS: Line = { text: 'troupe top', tone: 'head' };

function row(path: string, change: Partial<ActorRow> = {}): ActorRow {
  return {
    path,
    thread: 0,
    state: 'running',
    mailbox: 0,
    handled: 0,
    restarts: 0,
    last_failure: null,
    age_ms: 65_000,
    ...change,
  };
}

function snapshot(second: number, tree: readonly ActorRow[], handled = 0): RuntimeSnapshot {
  return {
    at: `2026-01-01T00:00:0${second}.000000+00:00`,
    totals: {
      actors: tree.length,
      queued: 0,
      sent: handled,
      handled,
      rejected: 0,
      dead_lettered: 0,
      restarts: 0,
    },
    threads: [
      { thread: 0, name: 'edge', state: 'ready', actors: 3, queued: 0, heap_mb: 30.5, loop_lag_ms: null },
      {
        thread: 1,
        name: null,
        state: 'silent',
        actors: null,
        queued: null,
        heap_mb: null,
        loop_lag_ms: null,
      },
    ],
    tree: [...tree],
    omitted: 0,
  };
}

function pictureOf(...snapshots: readonly RuntimeSnapshot[]): Picture {
  const picture = new Picture();
  for (const one of snapshots) picture.take({ kind: 'snapshot', snapshot: one });
  return picture;
}

function textOf(lines: readonly Line[]): string {
  return lines.map(({ text }) => text).join('\n');
}

describe.each([
  { columns: 80, rows: 24 },
  { columns: 200, rows: 60 },
  { columns: 30, rows: 5 },
])('on $columns × $rows', (size) => {
  test('the screen is full and nothing sticks out, whatever there is to show', () => {
    const many = Array.from({ length: 300 }, (_, n) => row(`a/very/long/path/of/an/actor/${n}`.repeat(3)));
    for (const tree of [[], [row('')], many]) {
      const picture = pictureOf(snapshot(1, tree));
      for (let n = 0; n < 20; n += 1) {
        const lines = screenLines(picture, STATUS, size);
        expect(lines).toHaveLength(size.rows);
        expect(Math.max(...lines.map(({ text }) => text.length))).toBeLessThanOrEqual(size.columns);
        picture.take({
          kind: 'dead_letter',
          letter: { at: '2026-01-01T00:00:00', thread: 0, target: 'x'.repeat(90), message: 'm', reason: 'r' },
        });
      }
    }
    expect(screenLines(new Picture(), STATUS, size)).toHaveLength(size.rows);
  });
});

test('the busiest come first: most mail, then most work a second', () => {
  const picture = pictureOf(
    snapshot(1, [row('idle', { handled: 9_000 }), row('working', { handled: 10 }), row('flooded')]),
    snapshot(3, [
      row('idle', { handled: 9_000 }),
      row('working', { handled: 210 }),
      row('flooded', { mailbox: 5_000 }),
      row('restarted', { handled: 1 }),
    ]),
  );
  expect(picture.busiest().map(({ path }) => path)).toEqual(['flooded', 'working', 'idle', 'restarted']);
  const lines = screenLines(picture, STATUS, { columns: 80, rows: 24 });
  expect(textOf(lines)).toMatch(/working .* 210 +100 /);
  expect(lines.find(({ text }) => text.startsWith('flooded'))?.tone).toBe('alert');
});

test('totals have rates as soon as there are two snapshots, and none after another process took over', () => {
  const picture = pictureOf(snapshot(1, [], 100));
  expect(textOf(screenLines(picture, STATUS, { columns: 80, rows: 24 }))).toContain('handled 100\n');
  picture.take({ kind: 'snapshot', snapshot: snapshot(2, [], 150) });
  expect(textOf(screenLines(picture, STATUS, { columns: 80, rows: 24 }))).toContain('handled 150 (50/s)');
  picture.forget();
  picture.take({ kind: 'snapshot', snapshot: snapshot(3, [], 5) });
  expect(picture.rateOf('handled')).toBeNull();
});

test('the newest dead letters are shown, and how many were not told', () => {
  const picture = pictureOf(snapshot(1, []));
  for (let n = 0; n < 200; n += 1) {
    const letter = {
      at: '2026-01-01T10:20:30',
      thread: 2,
      target: `t${n}`,
      message: 'go',
      reason: 'terminated',
    };
    picture.take({ kind: 'dead_letter', letter });
  }
  picture.take({ kind: 'missed', count: 7 });
  const text = textOf(screenLines(picture, STATUS, { columns: 80, rows: 24 }));
  expect(text).toContain('DEAD LETTERS (7 more were not told)\n10:20:30  go to t199: terminated (thread 2)');
  expect(picture.letters).toHaveLength(100);
});

test('what a terminal would obey is not passed on', () => {
  const picture = pictureOf(snapshot(1, [row('evil\u001b[2J\u0007', { last_failure: 'a\u009b31m' })]));
  for (const lines of [screenLines(picture, STATUS, { columns: 160, rows: 24 }), reportLines(picture, 160)]) {
    expect(textOf(lines)).toContain('evil?[2J?');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there.
    expect(textOf(lines)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  }
});

test('a report has all actors in the order of the tree', () => {
  const text = textOf(
    reportLines(pictureOf({ ...snapshot(1, [row(''), row('b'), row('a')]), omitted: 4 }), 160),
  );
  expect(text).toMatch(/\(root\).*\nb .*\na .*\nand 4 more$/s);
});
