// Fusion: one ranking out of several, by reciprocal rank. Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms
// Condorcet and individual Rank Learning Methods" (2009). Ranks can be added up where scores of different kinds cannot.
// F1 Of equal sums the one with the better best rank comes first, then the one that an earlier ranking named first.

export interface Ranking {
  /** The best first, none twice. */
  readonly keys: readonly string[];
  readonly weight: number;
}

export interface Fused {
  readonly key: string;
  readonly score: number;
  /** From 1, one for each ranking; null where it did not occur. */
  readonly ranks: readonly (number | null)[];
}

export function fuse(rankings: readonly Ranking[], rankConstant: number): readonly Fused[] {
  const found = new Map<string, { score: number; best: number; ranks: (number | null)[] }>();
  for (const [place, { keys, weight }] of rankings.entries()) {
    for (const [index, key] of keys.entries()) {
      let entry = found.get(key);
      if (entry === undefined) {
        entry = { score: 0, best: Number.POSITIVE_INFINITY, ranks: rankings.map(() => null) };
        found.set(key, entry);
      }
      const rank = index + 1;
      entry.score += weight / (rankConstant + rank);
      entry.best = Math.min(entry.best, rank);
      entry.ranks[place] = rank;
    }
  }
  return Array.from(found, ([key, entry]) => ({ key, ...entry }))
    .sort((a, b) => b.score - a.score || a.best - b.best)
    .map(({ key, score, ranks }) => ({ key, score, ranks }));
}
