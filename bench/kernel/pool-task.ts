// PoolTask: a task of piscina's pool; its worker imports this file.

export default function increment(n: number): number {
  return n + 1;
}
