// Range: the bounds of a scan as bytes.
// R1 A start takes in all keys that begin with it, in either direction; a prefix takes in those alone.
// R2 An end leaves out its own key; in reverse it lets in the keys that extend it, which lie before it on the way.

import type { Key, RangeOptions } from './contract.ts';
import type { ByteRange } from './environment.ts';
import { ABOVE, encodeKey } from './key.ts';

/** Directly above a key: the least that can follow it, where rows are keyed; and where entries carry a second key. */
export const ABOVE_ROW = Buffer.of(0x00);
export const ABOVE_ENTRY = Buffer.of(0x02);

export function byteRange(area: Buffer, options: RangeOptions, aboveOne: Buffer): ByteRange {
  const { start, end, reverse = false } = options;
  const within = options.prefix === undefined ? area : at(area, options.prefix);
  const from = start === undefined ? undefined : at(area, start);
  const to = end === undefined ? undefined : at(area, end);
  const lower = reverse ? to && Buffer.concat([to, aboveOne]) : from;
  const upper = reverse ? from && Buffer.concat([from, ABOVE]) : to;
  return {
    lower: lower === undefined || Buffer.compare(lower, within) < 0 ? within : lower,
    upper: least(upper, Buffer.concat([within, ABOVE])),
  };
}

function at(area: Buffer, key: Key): Buffer {
  return Buffer.concat([area, encodeKey(key)]);
}

function least(bound: Buffer | undefined, other: Buffer): Buffer {
  return bound === undefined || Buffer.compare(bound, other) > 0 ? other : bound;
}
