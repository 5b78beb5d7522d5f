// Bench: `npm run bench -- NAME [options]`. One file a question; each prints a table and one JSON line, and keeps its last result.

import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import type { BenchReport } from './report.ts';
import { printReport } from './report.ts';

const benches: Readonly<Record<string, (args: readonly string[]) => Promise<BenchReport>>> = {
  embeddings: async (args) => (await import('./embeddings.ts')).benchEmbeddings(args),
  load: async (args) => (await import('./load.ts')).benchLoad(args),
  ingestion: async (args) => (await import('./ingestion.ts')).benchIngestion(args),
  journal: async (args) => (await import('./journal.ts')).benchJournal(args),
  kernel: async (args) => (await import('./kernel.ts')).benchKernel(args),
  'fan-out': async (args) => (await import('./load/fan-out.ts')).benchFanOut(args),
  mcp: async (args) => (await import('./mcp.ts')).benchMcp(args),
  recovery: async (args) => (await import('./recovery.ts')).benchRecovery(args),
  runs: async () => (await import('./runs.ts')).benchRuns(),
  usage: async (args) => (await import('./usage.ts')).benchUsage(args),
  vectors: async (args) => (await import('./vectors.ts')).benchVectors(args),
};

const name = process.argv[2] ?? '';
const bench = benches[name];
if (bench === undefined) {
  console.error(`Say which: npm run bench -- ${Object.keys(benches).join(' | ')}`);
  process.exit(2);
}

const report = await bench(process.argv.slice(3));
const result = {
  bench: name,
  measuredAt: new Date().toISOString(),
  machine: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}, Node ${process.version}`,
  ...report,
};
printReport(result);
if (report.isKept === false) process.exit();
const folder = new URL('./results/', import.meta.url);
await mkdir(folder, { recursive: true });
await writeFile(new URL(`${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`);
