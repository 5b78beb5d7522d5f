// Codec: values as msgpack. Plain maps with their member names, so that any version of Troupe can read any row.

import { Packr } from 'msgpackr';

// `copyBuffers`: the engine lends its read buffer only until the next read.
const packr = new Packr({ useRecords: false, variableMapSize: true, copyBuffers: true });

export function encodeValue(value: unknown): Buffer {
  return packr.pack(value);
}

/** One for all calls: a view of a part of some bytes, and the view that msgpackr makes of that, cost as much as the decoding. */
const part = { start: 0, end: 0 };

export function decodeValue<Value>(bytes: Uint8Array, start = 0, end = bytes.length): Value {
  part.start = start;
  part.end = end;
  return packr.unpack(bytes, part) as Value;
}
