// Excerpt: the beginning of a text, cut between characters, never inside one.

/** At most `lengthMax` UTF-16 units of the text; a pair of surrogates is not torn apart. */
export function beginning(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return text.slice(0, splitsPair(text, lengthMax) ? lengthMax - 1 : lengthMax);
}

/** At most `lengthMax` UTF-16 units from the end of the text. */
export function ending(text: string, lengthMax: number): string {
  const from = text.length - lengthMax;
  if (from <= 0) return text;
  return text.slice(splitsPair(text, from) ? from + 1 : from);
}

/** The beginning, with an ellipsis when something was left out. */
export function excerpt(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${beginning(text, lengthMax)}…`;
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
