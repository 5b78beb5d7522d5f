// Terminal: the screen and the keys. Whatever happens, the terminal is left as it was found.

import type { Line, ScreenSize } from './screen.ts';

const ENTER = '\u001b[?1049h\u001b[?25l';
const LEAVE = '\u001b[?25h\u001b[?1049l';
const HOME = '\u001b[H';
const TO_END_OF_LINE = '\u001b[K';
const RESET = '\u001b[0m';
const TONES: Readonly<Record<Line['tone'], string>> = {
  plain: '',
  head: '\u001b[1m',
  dim: '\u001b[2m',
  alert: '\u001b[33m',
};
/** The last two are Ctrl-C and Ctrl-D, which a raw terminal hands over as they are. */
const QUIT_KEYS: readonly string[] = ['q', 'Q', '\u0003', '\u0004'];
/** What a terminal that does not say its size is taken for. */
const SIZE_DEFAULT: ScreenSize = { columns: 80, rows: 24 };

export interface Terminal {
  readonly size: ScreenSize;
  draw(lines: readonly Line[]): void;
  close(): void;
}

export function openTerminal(onQuit: () => void, onResize: () => void): Terminal {
  const { stdin, stdout } = process;
  let isOpen = true;
  const onKey = (bytes: Buffer): void => {
    if ([...bytes.toString('latin1')].some((key) => QUIT_KEYS.includes(key))) onQuit();
  };
  const close = (): void => {
    if (!isOpen) return;
    isOpen = false;
    stdout.off('resize', onResize);
    stdin.off('data', onKey);
    if (stdin.isTTY) stdin.setRawMode(false);
    stdin.pause();
    stdout.write(LEAVE);
  };
  // A failure of this program must not leave a terminal without a cursor.
  process.once('exit', close);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, onQuit);
  stdout.on('resize', onResize);
  if (stdin.isTTY) stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdout.write(ENTER);
  return {
    get size() {
      return { columns: stdout.columns || SIZE_DEFAULT.columns, rows: stdout.rows || SIZE_DEFAULT.rows };
    },
    draw(lines) {
      if (!isOpen) return;
      const painted = lines.map(({ text, tone }) => `${TONES[tone]}${text}${RESET}${TO_END_OF_LINE}`);
      // One write, from the top, without clearing first: nothing flickers.
      stdout.write(HOME + painted.join('\r\n'));
    },
    close,
  };
}
