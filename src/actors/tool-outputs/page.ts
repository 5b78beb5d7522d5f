// Page: a slice of a text in characters (UTF-16 units), which never halves a character. Pure.
// P1 Pages that follow each other add up to the text: a pair of surrogates belongs to the page in which it starts.

export function pageOf(text: string, offset: number, limit: number | null): string {
  const end = limit === null ? text.length : Math.min(offset + limit, text.length);
  return text.slice(boundaryFrom(text, offset), boundaryFrom(text, end));
}

/** The position itself, or the next one when it lies inside a pair of surrogates. */
function boundaryFrom(text: string, at: number): number {
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at + 1 : at;
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
