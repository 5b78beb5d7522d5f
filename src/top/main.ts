// Top: `npm run top [URL]`. Watches the actors of a running service in a terminal; without one it prints what is there once.
// T1 It only reads, over HTTP: it can watch any Troupe that it can reach, and changes none.
// T2 A service that goes away is waited for, once it has been seen; one that was never there is an error.

import { type Clock, systemClock } from '../std/clock.ts';
import { FeedError, follow, readSnapshot } from './feed.ts';
import { Picture } from './picture.ts';
import { type Line, reportLines, screenLines } from './screen.ts';
import { openTerminal } from './terminal.ts';

const URL_DEFAULT = 'http://127.0.0.1:12319';
const INTERVAL_MS = 1_000;
const RETRY_MS = 1_000;
/** The width of what is printed to a file or a pipe. */
const REPORT_COLUMNS = 160;

const base = baseOf(process.argv.slice(2));
if (base === null) {
  process.stderr.write(`usage: npm run top [URL]   (${URL_DEFAULT} without one)\n`);
  process.exitCode = 2;
} else {
  try {
    if (process.stdout.isTTY) await watch(base, systemClock);
    else await report(base);
  } catch (error) {
    if (!(error instanceof FeedError)) throw error;
    process.stderr.write(`troupe top: ${error.message}\n`);
    process.exitCode = 1;
  }
}

async function report(url: URL): Promise<void> {
  const picture = new Picture();
  picture.take({ kind: 'snapshot', snapshot: await readSnapshot(url) });
  process.stdout.write(
    `${reportLines(picture, REPORT_COLUMNS)
      .map(({ text }) => text)
      .join('\n')}\n`,
  );
}

async function watch(url: URL, clock: Clock): Promise<void> {
  // Before the screen is taken over, so that an error is seen (T2).
  await readSnapshot(url);
  const abort = new AbortController();
  const picture = new Picture();
  let trouble: string | null = null;
  const redraw = (): void =>
    terminal.draw(screenLines(picture, status(url, picture, trouble), terminal.size));
  const terminal = openTerminal(() => abort.abort(), redraw);
  try {
    while (!abort.signal.aborted) {
      redraw();
      try {
        for await (const event of follow(url, INTERVAL_MS, abort.signal)) {
          if (event.kind === 'snapshot' && trouble !== null) trouble = null;
          picture.take(event);
          redraw();
        }
        trouble = 'the service has closed the stream';
      } catch (error) {
        if (!(error instanceof FeedError)) throw error;
        trouble = error.message;
      }
      if (abort.signal.aborted) break;
      picture.forget();
      redraw();
      await pause(RETRY_MS, clock, abort.signal);
    }
  } finally {
    terminal.close();
  }
}

function status(url: URL, { snapshot }: Picture, trouble: string | null): Line {
  if (trouble !== null) return { text: `troupe top  ${trouble}; trying again`, tone: 'alert' };
  return { text: `troupe top  ${url.origin}  ${snapshot?.at.slice(11, 19) ?? ''} UTC`, tone: 'head' };
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel();
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = clock.startTimer(ms, done);
    signal.addEventListener('abort', done);
  });
}

/** Null when the arguments are no single URL. */
function baseOf(words: readonly string[]): URL | null {
  const [text = URL_DEFAULT, ...others] = words;
  // `localhost:8080` is a URL by the letter, of a scheme that nobody means.
  const url = URL.canParse(text) ? new URL(text) : null;
  return others.length === 0 && (url?.protocol === 'http:' || url?.protocol === 'https:') ? url : null;
}
