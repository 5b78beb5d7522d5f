// Pieces: a large text looked at piece by piece.
// E1 Nothing is replaced in all of a large text at once. V8 makes a string of 32 bytes for each place, keeps them as long as the
//    text is not looked at, and makes them in one step in which the heap limit of a thread ends the whole process instead of the
//    thread. 50 MB of carriage returns took more than a gigabyte.

const PIECE_CHARS = 8 * 1024;

/** In pieces that never end between a carriage return and its line feed. */
export function* piecesOf(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    let end = from + PIECE_CHARS;
    if (text[end - 1] === '\r' && text[end] === '\n') end += 1;
    yield text.slice(from, end);
    from = end;
  }
}

/** E1. Split and joined: that makes a piece of its characters. */
export function replacedInPieces(text: string, what: string | RegExp, by: string): string {
  return Array.from(piecesOf(text), (piece) => piece.split(what).join(by)).join('');
}
