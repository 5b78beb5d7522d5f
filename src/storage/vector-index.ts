// VectorIndex: the nearest of an engine's vectors, by comparing all that pass the filter.

import type { PassageFilter, VectorHit, VectorIndex, VectorIndexStatistics } from './contract.ts';
import type { View } from './draft.ts';
import type { StoredVectors, VectorLabels } from './vectors.ts';

export class ScannedIndex implements VectorIndex {
  readonly #vectors: StoredVectors;
  readonly #view: View;

  constructor(vectors: StoredVectors, view: View) {
    this.#vectors = vectors;
    this.#view = view;
  }

  search({
    vector,
    limit,
    ...filter
  }: { readonly vector: Float32Array; readonly limit: number } & PassageFilter): readonly VectorHit[] {
    const hits: VectorHit[] = [];
    for (const labels of this.#vectors.labelsAfter(this.#view, 0)) {
      if (!passes(labels, filter)) continue;
      const point = this.#vectors.point(this.#view, labels.number);
      if (point !== undefined) hits.push({ id: labels.id, similarity: product(vector, point) });
    }
    return hits.sort((a, b) => b.similarity - a.similarity).slice(0, limit);
  }

  statistics(): VectorIndexStatistics {
    return { vectors: this.#vectors.figures(this.#view).count };
  }

  async close(): Promise<void> {}
}

function passes({ owner, tags }: VectorLabels, filter: PassageFilter): boolean {
  if (filter.owners !== undefined && !filter.owners.includes(owner)) return false;
  return filter.tags === undefined || filter.tags.some((tag) => tags.includes(tag));
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += (a[i] as number) * (b[i] as number);
  return sum;
}
