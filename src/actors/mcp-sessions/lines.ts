// Lines: cuts a stream of bytes into lines, and never holds more of an unfinished one than it may.

/** `onLine` gets each line without its end; one that grows above `bytesMax` is reported, and the rest of it is skipped. */
export function lineCutter(
  bytesMax: number,
  onLine: (line: string) => void,
  onTooLong: (beginning: string) => void,
): (bytes: Buffer) => void {
  const NEWLINE = 0x0a;
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isSkipping = false;
  const take = (last: Buffer): string => {
    const line = held.length === 0 ? last : Buffer.concat([...held, last]);
    held = [];
    heldBytes = 0;
    return line.toString('utf8');
  };
  return (bytes) => {
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      const piece = end === -1 ? bytes.subarray(start) : bytes.subarray(start, end);
      if (!isSkipping && heldBytes + piece.length > bytesMax) {
        isSkipping = true;
        onTooLong(take(piece.subarray(0, bytesMax - heldBytes)));
      }
      if (end === -1) {
        if (!isSkipping && piece.length > 0) {
          held.push(piece);
          heldBytes += piece.length;
        }
        return;
      }
      if (isSkipping) isSkipping = false;
      else onLine(take(piece).replace(/\r$/, ''));
      start = end + 1;
    }
  };
}
