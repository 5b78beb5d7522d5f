// Glob: `*` stands for any run of characters, `?` for one, everything else for itself. Pure.
// G1 Time is at most text × pattern, whatever the pattern: it comes from a client or a model, so it never becomes a
//    regular expression. On a mismatch only the latest `*` is tried again, one character further on.

export function globMatches(pattern: string, text: string): boolean {
  let at = 0;
  let inPattern = 0;
  let starInPattern = -1;
  let starAt = 0;
  while (at < text.length) {
    const wanted = pattern[inPattern];
    if (wanted === '*') {
      starInPattern = inPattern;
      starAt = at;
      inPattern += 1;
    } else if (wanted === '?' || wanted === text[at]) {
      inPattern += 1;
      at += 1;
    } else if (starInPattern >= 0) {
      starAt += 1;
      at = starAt;
      inPattern = starInPattern + 1;
    } else {
      return false;
    }
  }
  while (pattern[inPattern] === '*') inPattern += 1;
  return inPattern === pattern.length;
}
