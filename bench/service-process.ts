// ServiceProcess: the service as `npm start` runs it, ended together with the bench that started it, however that one ends. With
// `--expose-gc` it also says what it holds.

import { rmSync } from 'node:fs';

process.on('disconnect', () => {
  const dataDir = process.env['SVC_DATA_DIR'];
  if (dataDir !== undefined) rmSync(dataDir, { recursive: true, force: true });
  process.exit(1);
});

/** A collection frees what it finds, its finalizers free what that held, and the next one finds the rest. */
const COLLECTIONS = 3;
const FINALIZERS_MS = 100;

process.on('message', () => void sayHeldBytes());

async function sayHeldBytes(): Promise<void> {
  for (let i = 0; i < COLLECTIONS; i += 1) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, FINALIZERS_MS));
  }
  const { heapUsed, external } = process.memoryUsage();
  process.send?.(heapUsed + external);
}

await import('../src/main.ts');
