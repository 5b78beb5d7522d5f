// Codec: values as msgpack. Plain maps with their member names, so that any version of Troupe can read any row.

import { Packr } from 'msgpackr';

// `copyBuffers`: the engine lends its read buffer only until the next read.
const packr = new Packr({ useRecords: false, variableMapSize: true, copyBuffers: true });

export function encodeValue(value: unknown): Buffer {
  return packr.pack(value);
}

/**
 * Of a part, a view is decoded. Given the whole with a start and an end, msgpackr takes its texts out of it by native code: quicker in
 * a loop, but with hundreds of readers behind it took many times as long, and they held ten times the memory.
 */
export function decodeValue<Value>(bytes: Uint8Array, start = 0, end = bytes.length): Value {
  const isPart = start > 0 || end < bytes.length;
  return packr.unpack(isPart ? bytes.subarray(start, end) : bytes) as Value;
}
