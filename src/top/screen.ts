// Screen: the picture as lines of text, for a terminal of a given size or for a file.
// S1 A terminal gets exactly as many lines as it has, none longer than it is wide.
// S2 Names come from elsewhere: what a terminal could take for a command is shown as a question mark.

import type { ActorRow, DeadLetterRow, ThreadRow } from '../actors/runtime/protocol.ts';
import type { Picture } from './picture.ts';

export interface Line {
  readonly text: string;
  readonly tone: 'plain' | 'head' | 'dim' | 'alert';
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

interface Column<Row> {
  readonly title: string;
  readonly width: number;
  readonly align: 'left' | 'right';
  readonly cell: (row: Row) => string;
}

const THREAD_COLUMNS: readonly Column<ThreadRow>[] = [
  { title: 'THREAD', width: 6, align: 'right', cell: ({ thread }) => String(thread) },
  { title: 'NAME', width: 20, align: 'left', cell: ({ name }) => name ?? '(spare)' },
  { title: 'STATE', width: 9, align: 'left', cell: ({ state }) => state },
  { title: 'ACTORS', width: 8, align: 'right', cell: ({ actors }) => count(actors) },
  { title: 'QUEUED', width: 9, align: 'right', cell: ({ queued }) => count(queued) },
  { title: 'HEAP MB', width: 9, align: 'right', cell: ({ heap_mb }) => decimal(heap_mb) },
  { title: 'LAG MS', width: 9, align: 'right', cell: ({ loop_lag_ms }) => decimal(loop_lag_ms) },
];

/** What is not for the path: the other columns and the blanks between. */
const ACTOR_REST_WIDTH = 51;
const PATH_WIDTH_MIN = 12;
const PATH_WIDTH_MAX = 60;
const FAILURE_WIDTH_MIN = 16;

function actorColumns(picture: Picture, columns: number): readonly Column<ActorRow>[] {
  const left = columns - ACTOR_REST_WIDTH;
  const pathWidth = Math.min(Math.max(left, PATH_WIDTH_MIN), PATH_WIDTH_MAX);
  const failureWidth = left - pathWidth - 1;
  const all: Column<ActorRow>[] = [
    {
      title: 'ACTOR',
      width: pathWidth,
      align: 'left',
      cell: ({ path }) => (path === '' ? '(root)' : tail(path, pathWidth)),
    },
    { title: 'THR', width: 3, align: 'right', cell: ({ thread }) => String(thread) },
    { title: 'STATE', width: 10, align: 'left', cell: ({ state }) => state },
    { title: 'MAIL', width: 6, align: 'right', cell: ({ mailbox }) => count(mailbox) },
    { title: 'HANDLED', width: 9, align: 'right', cell: ({ handled }) => count(handled) },
    { title: '/S', width: 6, align: 'right', cell: (row) => count(Math.round(picture.workOf(row))) },
    { title: 'RST', width: 4, align: 'right', cell: ({ restarts }) => count(restarts) },
    { title: 'AGE', width: 6, align: 'right', cell: ({ age_ms }) => age(age_ms) },
  ];
  if (failureWidth < FAILURE_WIDTH_MIN) return all;
  const cell = ({ last_failure }: ActorRow): string => last_failure ?? '';
  return [...all, { title: 'LAST FAILURE', width: failureWidth, align: 'left', cell }];
}

/** S1. `status` says who is watched and how the connection is. */
export function screenLines(picture: Picture, status: Line, { columns, rows }: ScreenSize): readonly Line[] {
  const head = [status, ...totalLines(picture), plain('')];
  const threads = picture.snapshot?.threads ?? [];
  const foot = { text: 'q quits', tone: 'dim' } as const;
  // Titles of three tables, a blank line after two of them, the foot.
  const free = Math.max(0, rows - head.length - 6);
  const threadsMax = Math.min(threads.length, Math.max(1, Math.floor(free / 3)));
  const lettersMax = Math.min(Math.max(1, picture.letters.length), Math.max(1, Math.floor(free / 4)));
  const actorsMax = Math.max(0, free - threadsMax - lettersMax);
  const actors = picture.busiest();
  const body = [
    ...head,
    ...table(THREAD_COLUMNS, threads.slice(0, threadsMax), ({ state }) => state === 'silent'),
    plain(''),
    ...table(actorColumns(picture, columns), actors.slice(0, actorsMax), isInTrouble),
    ...Array.from({ length: Math.max(0, actorsMax - actors.length) }, () => plain('')),
    plain(''),
    ...letterLines(picture, lettersMax),
  ];
  const filled = [...body, ...Array.from({ length: rows }, () => plain(''))].slice(0, rows - 1);
  return [...filled, foot].map(({ text, tone }) => ({ tone, text: fitted(text, columns) }));
}

/** For a file or a pipe: everything that is listed, in the order of the tree. */
export function reportLines(picture: Picture, columns: number): readonly Line[] {
  const { snapshot } = picture;
  if (snapshot === null) return [];
  const hidden = snapshot.omitted === 0 ? [] : [plain(`and ${count(snapshot.omitted)} more`)];
  const lines = [
    ...totalLines(picture),
    plain(''),
    ...table(THREAD_COLUMNS, snapshot.threads, () => false),
    plain(''),
    ...table(actorColumns(picture, columns), snapshot.tree, () => false),
    ...hidden,
  ];
  return lines.map(({ text, tone }) => ({ tone, text: harmless(text).trimEnd() }));
}

function totalLines(picture: Picture): readonly Line[] {
  const { snapshot } = picture;
  if (snapshot === null) return [plain('waiting for the first snapshot'), plain('')];
  const { totals, omitted } = snapshot;
  const withRate = (name: string, total: 'sent' | 'handled' | 'rejected' | 'dead_lettered' | 'restarts') => {
    const rate = picture.rateOf(total);
    return `${name} ${count(totals[total])}${rate === null ? '' : ` (${count(Math.round(rate))}/s)`}`;
  };
  const more = omitted === 0 ? '' : ` (${count(omitted)} not listed)`;
  return [
    plain(
      [
        `actors ${count(totals.actors)}${more}`,
        `queued ${count(totals.queued)}`,
        withRate('sent', 'sent'),
        withRate('handled', 'handled'),
      ].join('   '),
    ),
    {
      text: [
        withRate('rejected', 'rejected'),
        withRate('dead letters', 'dead_lettered'),
        withRate('restarts', 'restarts'),
      ].join('   '),
      tone: (picture.rateOf('restarts') ?? 0) > 0 ? 'alert' : 'plain',
    },
  ];
}

function letterLines(picture: Picture, linesMax: number): readonly Line[] {
  const missed = picture.missed === 0 ? '' : ` (${count(picture.missed)} more were not told)`;
  const title: Line = { text: `DEAD LETTERS${missed}`, tone: 'head' };
  if (picture.letters.length === 0) return [title, { text: 'none in the last minute', tone: 'dim' }];
  return [title, ...picture.letters.slice(0, linesMax).map(letterLine)];
}

function letterLine({ at, thread, target, message, reason }: DeadLetterRow): Line {
  return plain(`${at.slice(11, 19)}  ${message} to ${target}: ${reason} (thread ${thread})`);
}

function isInTrouble({ state, mailbox }: ActorRow): boolean {
  return state === 'restarting' || state === 'suspended' || mailbox >= MAILBOX_LONG;
}

/** An actor that is so far behind is worth a look. */
const MAILBOX_LONG = 1_000;

function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  isAlert: (row: Row) => boolean,
): readonly Line[] {
  const line = (cellOf: (column: Column<Row>) => string): string =>
    columns.map((column) => padded(cellOf(column), column)).join(' ');
  return [
    { text: line(({ title }) => title), tone: 'head' },
    ...rows.map(
      (row): Line => ({ text: line(({ cell }) => cell(row)), tone: isAlert(row) ? 'alert' : 'plain' }),
    ),
  ];
}

function padded(text: string, { width, align }: Pick<Column<never>, 'width' | 'align'>): string {
  const short = fitted(text, width);
  return align === 'right' ? short.padStart(width) : short.padEnd(width);
}

function fitted(text: string, width: number): string {
  const safe = harmless(text);
  return safe.length <= width ? safe : `${safe.slice(0, Math.max(0, width - 1))}…`;
}

/** The end of a path says more than its beginning. */
function tail(path: string, width: number): string {
  return path.length <= width ? path : `…${path.slice(1 - width)}`;
}

/** S2. */
function harmless(text: string): string {
  return text.replace(/\p{C}/gu, '?');
}

function plain(text: string): Line {
  return { text, tone: 'plain' };
}

function count(value: number | null): string {
  if (value === null) return '-';
  if (Math.abs(value) < 100_000) return String(value);
  return Math.abs(value) < 100_000_000 ? `${Math.round(value / 1e3)}k` : `${Math.round(value / 1e6)}M`;
}

function decimal(value: number | null): string {
  return value === null ? '-' : value.toFixed(1);
}

function age(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
