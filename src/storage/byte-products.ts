// ByteProducts: the inner products of one vector of 16-bit numbers with many of bytes, eight members at a time. WebAssembly, because
// JavaScript has no way to the processor's wide registers: 100,000 rows of 384 take 1.6 ms, 21 ms as a loop over floats. The module
// is so small that it is written out below, instruction by instruction, and built when a thread first compares.
// P1 Rows are a whole number of STEP_BYTES long; what is beyond a vector's end is 0 on both sides.
// P2 A sum has 32 bits. Whoever chooses the scales sees to it that none overflows (vector-screen.ts).

/** A row is read in steps of so many bytes. */
export const STEP_BYTES = 32;
export const PAGE_BYTES = 65_536;

/** All addresses are in bytes of the one memory. */
export type Products = (
  /** 32-bit numbers of the rows, from here up to there; at least one. */
  rowNumbers: number,
  rowNumbersEnd: number,
  /** 16-bit members of the one vector. */
  vector: number,
  /** Row 0. */
  rows: number,
  rowBytes: number,
  /** 32-bit sums, one for each row number. */
  sums: number,
) => void;

/** Of as many pages as it was grown to. Its buffer is another one after that. */
export interface Memory {
  readonly buffer: ArrayBuffer;
  /** @throws RangeError when the system has no more */
  grow(pages: number): number;
}

export function openMemory(pagesMax: number): { readonly memory: Memory; readonly products: Products } {
  compiled ??= new Module(moduleBytes());
  const memory = new LinearMemory({ initial: 1, maximum: pagesMax });
  const { exports } = new Instance(compiled, { of: { memory } });
  return { memory, products: exports['products'] as Products };
}

/** The types of Node do not know it. */
const {
  Module,
  Instance,
  Memory: LinearMemory,
} = (
  globalThis as unknown as {
    readonly WebAssembly: {
      readonly Module: new (bytes: Uint8Array) => object;
      readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => Memory;
      readonly Instance: new (
        module: object,
        imports: object,
      ) => { readonly exports: Record<string, unknown> };
    };
  }
).WebAssembly;

let compiled: object | undefined;

// ---- The module. Code of a stack machine: what an instruction takes was pushed before it.

const I32 = 0x7f;
const V128 = 0x7b;
const FUNCTION = 0x60;
const NOTHING = 0x40;
const END = 0x0b;

// Parameters, then locals.
const [ROW_NUMBER, ROW_NUMBERS_END, VECTOR, ROWS, ROW_BYTES, SUM] = [0, 1, 2, 3, 4, 5];
const [ROW, ROW_END, MEMBERS, EVEN, ODD] = [6, 7, 8, 9, 10];

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const constant = (value: number): number[] => [0x41, ...signed(value)];
const add = [0x6a];
const multiply = [0x6c];
const load = [0x28, 2, 0];
const store = [0x36, 2, 0];
const advance = (local: number, bytes: number): number[] => [
  ...get(local),
  ...constant(bytes),
  ...add,
  ...set(local),
];
/** Again as long as one address is below another. */
const loopWhileBelow = (body: number[], local: number, end: number): number[] => [
  ...[0x03, NOTHING],
  ...body,
  ...[...get(local), ...get(end), 0x49, 0x0d, 0],
  END,
];

const wide = (operation: number, ...rest: number[]): number[] => [0xfd, ...unsigned(operation), ...rest];
const zeros = wide(0x0c, ...Array<number>(16).fill(0));
const loadEightBytesAsWords = (offset: number): number[] => wide(0x01, 0, ...unsigned(offset));
const loadEightWords = (offset: number): number[] => wide(0x00, 0, ...unsigned(offset));
/** Of eight words and eight words: four sums of two products. */
const productsOfWords = wide(0xba);
const addFour = wide(0xae);
const lane = (number: number): number[] => wide(0x1b, number);

/** Two sums at once: the processor need not wait for one before it begins the next. */
const eightMembers = (offset: number, sums: number): number[] => [
  ...get(sums),
  ...get(ROW),
  ...loadEightBytesAsWords(offset),
  ...get(MEMBERS),
  ...loadEightWords(2 * offset),
  ...productsOfWords,
  ...addFour,
  ...set(sums),
];

function moduleBytes(): Uint8Array<ArrayBuffer> {
  const oneStep = [
    ...eightMembers(0, EVEN),
    ...eightMembers(8, ODD),
    ...eightMembers(16, EVEN),
    ...eightMembers(24, ODD),
    ...advance(MEMBERS, 2 * STEP_BYTES),
    ...advance(ROW, STEP_BYTES),
  ];
  const oneRow = [
    ...[...get(ROWS), ...get(ROW_NUMBER), ...load, ...get(ROW_BYTES), ...multiply, ...add, ...set(ROW)],
    ...[...get(ROW), ...get(ROW_BYTES), ...add, ...set(ROW_END)],
    ...[...get(VECTOR), ...set(MEMBERS), ...zeros, ...set(EVEN), ...zeros, ...set(ODD)],
    ...loopWhileBelow(oneStep, ROW, ROW_END),
    ...[...get(EVEN), ...get(ODD), ...addFour, ...set(EVEN)],
    ...get(SUM),
    ...[...get(EVEN), ...lane(0), ...get(EVEN), ...lane(1), ...add],
    ...[...get(EVEN), ...lane(2), ...add, ...get(EVEN), ...lane(3), ...add],
    ...store,
    ...advance(SUM, 4),
    ...advance(ROW_NUMBER, 4),
  ];
  const locals = listOf([
    [3, I32],
    [2, V128],
  ]);
  const code = sized([...locals, ...loopWhileBelow(oneRow, ROW_NUMBER, ROW_NUMBERS_END), END]);
  const type = [FUNCTION, ...listOf(Array(6).fill([I32])), ...listOf([])];
  const importedMemory = [...named('of'), ...named('memory'), 0x02, 0x00, 1];
  const exportedFunction = [...named('products'), 0x00, 0];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...[1, ...sized(listOf([type]))],
    ...[2, ...sized(listOf([importedMemory]))],
    ...[3, ...sized(listOf([[0]]))],
    ...[7, ...sized(listOf([exportedFunction]))],
    ...[10, ...sized(listOf([code]))],
  ]);
}

function listOf(items: readonly number[][]): number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function sized(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function named(name: string): number[] {
  return sized([...Buffer.from(name)]);
}

/** Seven bits a byte, the lowest first; the eighth says that more follow (LEB128). */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

/** As `unsigned`, of a number that is not negative; its highest bit would be the sign. */
function signed(value: number): number[] {
  return value < 0x40 ? [value] : [(value & 0x7f) | 0x80, ...signed(value >>> 7)];
}
