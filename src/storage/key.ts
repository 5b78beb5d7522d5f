// Key: the byte form of keys, whose byte order is the order of the keys.
// K1 Parts sort as strings (by code point), then numbers, then false, then true; a key sorts before its extensions.
// K2 An array of one part is the same key as that part.
// K3 SEPARATOR sorts below every part: `key, SEPARATOR, rest` keeps all that belongs to a key together, before its extensions.
// K4 ABOVE sorts above everything that can follow a complete key.

import { assert } from '../std/assert.ts';
import type { Key, KeyPart } from './contract.ts';
import { storageFaults } from './faults.ts';

/** LMDB holds keys of up to 1,978 bytes on pages of 4 KB; an index entry holds two keys and their table's name. */
export const KEY_BYTES_MAX = 1_900;

export const SEPARATOR = Buffer.of(0x01);
export const ABOVE = Buffer.of(0xff);

const TEXT = 0x02;
const NUMBER = 0x03;
const FALSE = 0x04;
const TRUE = 0x05;
const END_OF_TEXT = 0x00;
const ESCAPED_ZERO = 0xff;
const NUMBER_BYTES = 8;
const UTF8_BYTES_PER_UNIT_MAX = 3;

const scratch = Buffer.alloc(16 * 1024);

export function encodeKey(key: Key): Buffer {
  const parts: readonly KeyPart[] = typeof key === 'object' ? key : [key];
  assert(parts.length > 0, 'a key has at least one part');
  let length = 0;
  for (const part of parts) length = writePart(part, length);
  return bounded(Buffer.from(scratch.subarray(0, length)));
}

/** One key from pieces that are encoded already. */
export function joinKey(...pieces: readonly Uint8Array[]): Buffer {
  return bounded(Buffer.concat(pieces));
}

/** `joinKey(area, encodeKey(first), SEPARATOR, encodeKey(second))`, for those who need very many: it is copied once. */
export function encodePath(area: Buffer, first: KeyPart, second: KeyPart): Buffer {
  let length = writePart(first, area.copy(scratch));
  length += SEPARATOR.copy(scratch, length);
  return bounded(Buffer.from(scratch.subarray(0, writePart(second, length))));
}

/** Reads the parts from `at` to the end, or to a separator. */
export function decodeKey(bytes: Buffer, at = 0): Key {
  const parts: KeyPart[] = [];
  while (at < bytes.length && bytes[at] !== SEPARATOR[0]) {
    const tag = bytes[at];
    const end = endOfPart(bytes, at);
    if (tag === TEXT) parts.push(readText(bytes, at + 1, end - 1));
    else if (tag === NUMBER) parts.push(readNumber(bytes, at + 1));
    else parts.push(tag === TRUE);
    at = end;
  }
  const [first] = parts;
  assert(first !== undefined, 'a stored key has at least one part');
  return parts.length === 1 ? first : parts;
}

/** Where the key that begins at `at` ends: at its separator, or with the bytes. */
export function endOfKey(bytes: Buffer, at: number): number {
  while (at < bytes.length && bytes[at] !== SEPARATOR[0]) at = endOfPart(bytes, at);
  return at;
}

function writePart(part: KeyPart, at: number): number {
  if (typeof part === 'string') return writeText(part, at);
  roomFor(1 + NUMBER_BYTES, at);
  if (typeof part === 'boolean') {
    scratch[at] = part ? TRUE : FALSE;
    return at + 1;
  }
  assert(!Number.isNaN(part), 'a key holds no NaN');
  scratch[at] = NUMBER;
  scratch.writeDoubleBE(part === 0 ? 0 : part, at + 1); // one zero, not two
  flipForOrder(scratch, at + 1, part < 0);
  return at + 1 + NUMBER_BYTES;
}

function writeText(text: string, at: number): number {
  if (!text.isWellFormed()) {
    throw storageFaults.storage_key_invalid('a key holds half of a surrogate pair');
  }
  const runs = text.includes('\0') ? text.split('\0') : [text];
  roomFor(text.length * UTF8_BYTES_PER_UNIT_MAX + 2, at);
  scratch[at++] = TEXT;
  for (const [index, run] of runs.entries()) {
    if (index > 0) {
      scratch[at++] = END_OF_TEXT;
      scratch[at++] = ESCAPED_ZERO;
    }
    at += scratch.write(run, at, 'utf8');
  }
  scratch[at++] = END_OF_TEXT;
  return at;
}

function endOfPart(bytes: Buffer, at: number): number {
  if (bytes[at] === NUMBER) return at + 1 + NUMBER_BYTES;
  if (bytes[at] !== TEXT) return at + 1;
  let end = bytes.indexOf(END_OF_TEXT, at + 1);
  while (bytes[end + 1] === ESCAPED_ZERO) end = bytes.indexOf(END_OF_TEXT, end + 2);
  return end + 1;
}

function readText(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('utf8', from, to);
  if (!text.includes('\0')) return text;
  const runs: Buffer[] = [];
  let start = from;
  for (let zero = bytes.indexOf(END_OF_TEXT, from); zero !== -1 && zero < to; ) {
    runs.push(bytes.subarray(start, zero + 1));
    start = zero + 2;
    zero = bytes.indexOf(END_OF_TEXT, start);
  }
  runs.push(bytes.subarray(start, to));
  return Buffer.concat(runs).toString('utf8');
}

function readNumber(bytes: Buffer, at: number): number {
  const image = Buffer.from(bytes.subarray(at, at + NUMBER_BYTES));
  const negative = (image.readUInt8(0) & 0x80) === 0;
  flipForOrder(image, 0, negative);
  return image.readDoubleBE(0);
}

/** Turns the order of doubles into the order of their bytes, and back: all bits of a negative, else the sign alone. */
function flipForOrder(bytes: Buffer, at: number, negative: boolean): void {
  if (!negative) {
    bytes[at] = bytes.readUInt8(at) ^ 0x80;
    return;
  }
  for (let index = at; index < at + NUMBER_BYTES; index += 1) bytes[index] = bytes.readUInt8(index) ^ 0xff;
}

function roomFor(bytes: number, at: number): void {
  if (at + bytes > scratch.length) throw tooLong();
}

function bounded(key: Buffer): Buffer {
  if (key.length > KEY_BYTES_MAX) throw tooLong();
  return key;
}

function tooLong(): Error {
  return storageFaults.storage_key_invalid(`a key is longer than ${KEY_BYTES_MAX} bytes`);
}
