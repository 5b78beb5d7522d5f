// BERT forward pass: what a model of given weights makes of one text, worked out in plain numbers of 64 bits, one token after
// the other, without a batch, padding or a mask. It shares the weights with the ONNX graph and nothing else.

import { type BertShape, bertWeights, vocabularyOf } from '../../support/bert-model.ts';

type Vector = readonly number[];

/** The hidden states of the tokens, `[CLS]` and `[SEP]` included. */
export function bertForward(shape: BertShape, tokens: readonly string[]): readonly Vector[] {
  const weights = bertWeights(shape);
  const { width, layers, heads } = shape;
  const numbers = (name: string): Float32Array => {
    const found = weights[name];
    if (found === undefined) throw new Error(`there are no weights ${name}`);
    return found;
  };
  const row = (name: string, index: number): Vector =>
    Array.from(numbers(name).subarray(index * width, (index + 1) * width));
  const dense = (input: Vector, name: string): Vector => {
    const matrix = numbers(`${name}.weight`);
    const bias = numbers(`${name}.bias`);
    return Array.from(bias, (offset, to) =>
      input.reduce((sum, value, from) => sum + value * (matrix[from * bias.length + to] ?? 0), offset),
    );
  };
  const norm = (input: Vector, name: string): Vector => {
    const mean = sum(input) / width;
    const deviation = Math.sqrt(sum(input.map((value) => (value - mean) ** 2)) / width);
    return input.map(
      (value, at) =>
        ((value - mean) / deviation) * (numbers(`${name}.weight`)[at] ?? 0) +
        (numbers(`${name}.bias`)[at] ?? 0),
    );
  };

  const vocabulary = vocabularyOf(shape);
  let hidden = tokens.map((token, place) => {
    const word = vocabulary.indexOf(token);
    if (word === -1) throw new Error(`${token} is no token`);
    return norm(add(add(row('word', word), row('position', place)), row('type', 0)), 'norm');
  });
  const size = width / heads;
  for (let layer = 0; layer < layers; layer += 1) {
    const [queries, keys, values] = ['query', 'key', 'value'].map((part) =>
      hidden.map((state) => dense(state, `${layer}.${part}`)),
    ) as [Vector[], Vector[], Vector[]];
    const attended = hidden.map((state, token) => {
      const seen: number[] = [];
      for (let head = 0; head < heads; head += 1) {
        const part = (vector: Vector): Vector => vector.slice(head * size, (head + 1) * size);
        const scores = keys.map((key) => dot(part(queries[token] ?? []), part(key)) / Math.sqrt(size));
        const shares = softmax(scores);
        for (let at = 0; at < size; at += 1)
          seen.push(sum(values.map((value, other) => (shares[other] ?? 0) * (part(value)[at] ?? 0))));
      }
      return norm(add(dense(seen, `${layer}.output`), state), `${layer}.attended`);
    });
    hidden = attended.map((state) => {
      const raised = dense(state, `${layer}.inner`).map(
        (value) => (value * (1 + erf(value / Math.SQRT2))) / 2,
      );
      return norm(add(dense(raised, `${layer}.outer`), state), `${layer}.norm`);
    });
  }
  return hidden;
}

export function unit(vector: Vector): Vector {
  const length = Math.sqrt(dot(vector, vector));
  return vector.map((value) => value / length);
}

export function mean(vectors: readonly Vector[]): Vector {
  return (vectors[0] ?? []).map((_, at) => sum(vectors.map((vector) => vector[at] ?? 0)) / vectors.length);
}

const sum = (values: Vector): number => values.reduce((total, value) => total + value, 0);
const dot = (one: Vector, other: Vector): number => sum(one.map((value, at) => value * (other[at] ?? 0)));
const add = (one: Vector, other: Vector): Vector => one.map((value, at) => value + (other[at] ?? 0));

function softmax(scores: Vector): Vector {
  const powers = scores.map((score) => Math.exp(score - Math.max(...scores)));
  return powers.map((power) => power / sum(powers));
}

/** By its series, which converges quickly enough for what comes up here. */
function erf(x: number): number {
  if (Math.abs(x) > 5) return Math.sign(x);
  let term = x;
  let total = x;
  for (let n = 1; n < 120; n += 1) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * total;
}
