// ServiceProcess: the service as `npm start` runs it, ended together with the bench that started it, however that one ends.

import { rmSync } from 'node:fs';

process.on('disconnect', () => {
  const dataDir = process.env['SVC_DATA_DIR'];
  if (dataDir !== undefined) rmSync(dataDir, { recursive: true, force: true });
  process.exit(1);
});
await import('../src/main.ts');
