// RandomNumbers: as many as a bench draws, decided by a seed.

/**
 * Small Fast Counting (Doty-Humphrey, PractRand): 77 million numbers are drawn here, and a generator that begins again before that
 * gives the same vector twice.
 */
export function randomNumbers(seed: number): () => number {
  let [a, b, c, counter] = [seed | 0, 0x9e3779b9 | 0, 0x85ebca6b | 0, 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 20; i += 1) next();
  return next;
}
