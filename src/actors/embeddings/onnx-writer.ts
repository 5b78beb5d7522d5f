// OnnxWriter: a model as the bytes of an ONNX file. Only what our own models need: float, int8 and int64 tensors, and nodes
// with integer, float and list attributes. The format is protobuf, of which writing takes a page; reading it is the business
// of onnxruntime.
// X1 The same model gives the same bytes, on every machine: its hash is its identity.

/** The version of the operators, and of the file format that goes with it. */
const OPSET = 17;
const IR_VERSION = 8;

const ELEMENT = { float: 1, int8: 3, int64: 7 } as const;
type ElementType = keyof typeof ELEMENT;

/** A name stands for a size that is known when the model runs. */
type Shape = readonly (number | string)[];

export interface OnnxTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array | Int8Array | BigInt64Array;
}

export interface OnnxNode {
  readonly operator: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

type AttributeValue =
  | { readonly int: number }
  | { readonly float: number }
  | { readonly ints: readonly number[] };

export interface OnnxPort {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: Shape;
}

export interface OnnxGraph {
  readonly name: string;
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
  readonly nodes: readonly OnnxNode[];
  readonly tensors: readonly OnnxTensor[];
}

export function onnxModel(graph: OnnxGraph): Uint8Array {
  return message([
    number(1, IR_VERSION),
    text(2, 'troupe'),
    nested(7, graphOf(graph)),
    nested(8, message([text(1, ''), number(2, OPSET)])),
  ]);
}

function graphOf({ name, inputs, outputs, nodes, tensors }: OnnxGraph): Uint8Array {
  return message([
    ...nodes.map((node) => nested(1, nodeOf(node))),
    text(2, name),
    ...tensors.map((tensor) => nested(5, tensorOf(tensor))),
    ...inputs.map((port) => nested(11, portOf(port))),
    ...outputs.map((port) => nested(12, portOf(port))),
  ]);
}

function nodeOf({ operator, inputs, outputs, attributes = {} }: OnnxNode): Uint8Array {
  return message([
    ...inputs.map((input) => text(1, input)),
    ...outputs.map((output) => text(2, output)),
    text(4, operator),
    ...Object.entries(attributes).map(([name, value]) => nested(5, attributeOf(name, value))),
  ]);
}

function attributeOf(name: string, value: AttributeValue): Uint8Array {
  if ('float' in value) return message([text(1, name), float(2, value.float), number(20, 1)]);
  if ('int' in value) return message([text(1, name), number(3, value.int), number(20, 2)]);
  return message([text(1, name), ...value.ints.map((int) => number(8, int)), number(20, 7)]);
}

function tensorOf({ name, shape, data }: OnnxTensor): Uint8Array {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return message([
    ...shape.map((size) => number(1, size)),
    number(2, ELEMENT[elementType(data)]),
    text(8, name),
    nested(9, bytes),
  ]);
}

function elementType(data: OnnxTensor['data']): ElementType {
  if (data instanceof Float32Array) return 'float';
  return data instanceof Int8Array ? 'int8' : 'int64';
}

function portOf({ name, type, shape }: OnnxPort): Uint8Array {
  const sizes = shape.map((size) =>
    nested(1, message([typeof size === 'number' ? number(1, size) : text(2, size)])),
  );
  const tensorType = message([number(1, ELEMENT[type]), nested(2, message(sizes))]);
  return message([text(1, name), nested(2, message([nested(1, tensorType)]))]);
}

// ---- Protobuf: fields with a number and one of three wire types.

function message(fields: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(fields);
}

function nested(field: number, body: Uint8Array): Uint8Array {
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

function text(field: number, value: string): Uint8Array {
  return nested(field, Buffer.from(value, 'utf8'));
}

function number(field: number, value: number): Uint8Array {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function float(field: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Buffer.concat([varint((field << 3) | 5), bytes]);
}

/** Seven bits a byte, the lowest first; a negative number in its 64-bit form. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  while (rest > 127n) {
    bytes.push(Number(rest & 127n) | 128);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}
