// Excerpt: the beginning of a text, short enough for its place. Pure.

/** At most `charsMax` characters and an ellipsis; never half a character. */
export function excerpt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const lastUnit = text.charCodeAt(charsMax - 1);
  const halvesPair = lastUnit >= 0xd800 && lastUnit <= 0xdbff;
  return `${text.slice(0, halvesPair ? charsMax - 1 : charsMax)}…`;
}
