// Codec: values as msgpack. Plain maps with their member names, so that any version of Troupe can read any row.

import { Packr } from 'msgpackr';

// `copyBuffers`: the engine lends its read buffer only until the next read.
const packr = new Packr({ useRecords: false, variableMapSize: true, copyBuffers: true });

export function encodeValue(value: unknown): Buffer {
  return packr.pack(value);
}

export function decodeValue<Value>(bytes: Uint8Array): Value {
  return packr.unpack(bytes) as Value;
}
