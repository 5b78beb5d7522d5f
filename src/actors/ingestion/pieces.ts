// Pieces: a change of a large text, piece by piece. To replace millions of places at once takes a gigabyte for the notes of where
// they are, part of it in steps in which the heap limit of a thread ends the whole process instead of the thread.

/** Of a piece; the notes on it are some megabytes. */
const PIECE_CHARS = 256 * 1024;

/** In pieces that never end between a carriage return and its line feed. */
export function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let end = from + PIECE_CHARS;
    if (text[end - 1] === '\r' && text[end] === '\n') end += 1;
    yield text.slice(from, end);
    from = end;
  }
}

export function changedInPieces(text: string, change: (piece: string) => string): string {
  return Array.from(piecesOf(text), change).join('');
}
