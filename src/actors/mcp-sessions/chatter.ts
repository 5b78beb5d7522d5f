// Chatter: what a server says besides its answers, its standard error and its log messages, on its way into our log and to the
// listener.
// L1 Lines are masked, then cut, and bounded in rate: what was held back is counted in the next line that passes.

import type { Clock } from '../../std/clock.ts';
import type { Log } from '../../std/log.ts';
import type { Mask } from './masking.ts';
import { Rate } from './rate.ts';
import { type Members, textOf } from './untrusted.ts';

const LINE_CHARS_MAX = 2_000;
const SOURCE_CHARS_MAX = 100;
const LINES_PER_SECOND = 20;
const LINES_BURST = 200;

export type Level = 'debug' | 'info' | 'warn' | 'error';
export type Tell = (level: Level, source: string, line: string) => void;

export interface Chatter {
  /** Of the standard error. */
  errorLine(line: string): void;
  /** Of a `notifications/message`. */
  message(params: Members): void;
  /** What the standard error said last; a hint at why a process ended. */
  readonly lastErrorLine: string | null;
}

export function openChatter(server: string, mask: Mask, log: Log, clock: Clock, tell: Tell): Chatter {
  const rate = new Rate(LINES_PER_SECOND, LINES_BURST, clock);
  let lastErrorLine: string | null = null;
  const say = (level: Level, source: string, line: string): void => {
    const heldBack = rate.pass();
    if (heldBack === null) return;
    const shown = heldBack === 0 ? line : `${line} (${heldBack} lines before this one were left out)`;
    log[level]({ category: 'mcp', server, source, line: shown }, 'an MCP server says');
    tell(level, source, shown);
  };
  return {
    errorLine(text) {
      if (text.trim() === '') return;
      const line = mask(text).slice(0, LINE_CHARS_MAX);
      lastErrorLine = line;
      say('info', 'stderr', line);
    },
    message(params) {
      const { level, data } = params;
      const text = typeof data === 'string' ? data : JSON.stringify(data);
      const source = textOf(params, 'logger', SOURCE_CHARS_MAX) ?? 'log';
      say(levelOf(level), mask(source), mask(text ?? '').slice(0, LINE_CHARS_MAX));
    },
    get lastErrorLine() {
      return lastErrorLine;
    },
  };
}

function levelOf(level: unknown): Level {
  switch (level) {
    case 'debug':
      return 'debug';
    case 'warning':
      return 'warn';
    case 'error':
    case 'critical':
    case 'alert':
    case 'emergency':
      return 'error';
    default:
      return 'info';
  }
}
