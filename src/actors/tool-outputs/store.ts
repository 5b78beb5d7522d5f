// Store: kept texts and what is known about them, in two tables, so that a list reads no text.
// O1 At most OUTPUTS_MAX texts and CHARS_TOTAL_MAX characters are kept; the oldest make room. A longer text than
//    OUTPUT_CHARS_MAX is cut, and says so at its end.
// O2 The totals are a record of their own, changed in the same write as what they count.
// O3 An expired text is not there, whether or not the sweep has come by.

import type { Storage, Transaction } from '../../storage/contract.ts';
import { pageOf } from './page.ts';
import { TOOL_OUTPUT_LIFETIME_MS } from './protocol.ts';

/** What can be searched or parsed in about a tenth of a second, on the thread that serves everyone. */
const OUTPUT_CHARS_MAX = 4 * 1024 * 1024;
const OUTPUTS_MAX = 2_000;
const CHARS_TOTAL_MAX = 256 * 1024 * 1024;

export interface KeptOutput {
  readonly key: string;
  readonly tool: string;
  readonly toolCallId: string;
  readonly sizeChars: number;
  readonly storedAtMs: number;
}

interface Totals {
  readonly outputs: number;
  readonly chars: number;
}

export interface OutputBounds {
  readonly outputsMax: number;
  readonly charsTotalMax: number;
  readonly outputCharsMax: number;
}

const DEFAULT_BOUNDS: OutputBounds = {
  outputsMax: OUTPUTS_MAX,
  charsTotalMax: CHARS_TOTAL_MAX,
  outputCharsMax: OUTPUT_CHARS_MAX,
};

const TOTALS_KEY = 'all';

export interface OutputStore {
  put(output: Omit<KeptOutput, 'sizeChars'>, content: string): Promise<void>;
  get(key: string, nowMs: number): KeptOutput | undefined;
  content(key: string): string | undefined;
  /** Newest first. */
  list(nowMs: number): Iterable<KeptOutput>;
  /** True when there was something to remove. */
  remove(key: string): Promise<boolean>;
  /** Removes the oldest expired ones, at most `outputsMax` of them; answers how many. */
  sweep(nowMs: number, outputsMax: number): Promise<number>;
}

export function outputStore(storage: Storage, bounds: OutputBounds = DEFAULT_BOUNDS): OutputStore {
  const outputs = storage.table<KeptOutput, { byAge: (output: KeptOutput) => number }>({
    name: 'tool-outputs',
    indexes: { byAge: (output) => output.storedAtMs },
  });
  const contents = storage.table<string>({ name: 'tool-output-contents' });
  const totals = storage.table<Totals>({ name: 'tool-output-totals' });

  const totalsIn = (tx: Transaction): Totals => tx.get(totals, TOTALS_KEY) ?? { outputs: 0, chars: 0 };

  const removeIn = (tx: Transaction, key: string): boolean => {
    const output = tx.get(outputs, key);
    if (output === undefined) return false;
    const before = totalsIn(tx);
    tx.remove(outputs, key);
    tx.remove(contents, key);
    tx.put(totals, TOTALS_KEY, { outputs: before.outputs - 1, chars: before.chars - output.sizeChars });
    return true;
  };

  const oldestIn = (tx: Transaction): KeptOutput | undefined => {
    for (const { value } of tx.by(outputs, 'byAge', { limit: 1 })) return value;
    return undefined;
  };

  const makeRoomIn = (tx: Transaction, sizeChars: number): Totals => {
    for (;;) {
      const now = totalsIn(tx);
      if (now.outputs < bounds.outputsMax && now.chars + sizeChars <= bounds.charsTotalMax) return now;
      const oldest = oldestIn(tx);
      if (oldest === undefined) return now;
      removeIn(tx, oldest.key);
    }
  };

  return {
    async put(output, content) {
      const kept = cut(content, bounds.outputCharsMax);
      await storage.write('committed', (tx) => {
        removeIn(tx, output.key);
        const before = makeRoomIn(tx, kept.length);
        tx.put(outputs, output.key, { ...output, sizeChars: kept.length });
        tx.put(contents, output.key, kept);
        tx.put(totals, TOTALS_KEY, { outputs: before.outputs + 1, chars: before.chars + kept.length });
      });
    },
    get(key, nowMs) {
      const output = outputs.get(key);
      return output === undefined || isExpired(output, nowMs) ? undefined : output;
    },
    content: (key) => contents.get(key),
    *list(nowMs) {
      for (const { value } of outputs.by('byAge', { reverse: true })) {
        if (!isExpired(value, nowMs)) yield value;
      }
    },
    remove: (key) => storage.write('committed', (tx) => removeIn(tx, key)),
    sweep: (nowMs, outputsMax) =>
      storage.write('committed', (tx) => {
        for (let removed = 0; removed < outputsMax; removed += 1) {
          const oldest = oldestIn(tx);
          if (oldest === undefined || !isExpired(oldest, nowMs)) return removed;
          removeIn(tx, oldest.key);
        }
        return outputsMax;
      }),
  };
}

function isExpired(output: KeptOutput, nowMs: number): boolean {
  return nowMs >= output.storedAtMs + TOOL_OUTPUT_LIFETIME_MS;
}

function cut(content: string, charsMax: number): string {
  if (content.length <= charsMax) return content;
  const kept = pageOf(content, 0, charsMax);
  return `${kept}\n[cut here: ${content.length - kept.length} more characters were not kept]`;
}
