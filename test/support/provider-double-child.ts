// Entry point of the provider double's own process (see provider-double-process.ts).

import { startProviderDouble } from './provider-double.ts';
import type { ChildMessage, ChildOptions } from './provider-double-process.ts';

const options = JSON.parse(process.argv[2] ?? '') as ChildOptions;
const double = await startProviderDouble({ ...options, requestsKeptMax: 0 });
const say = (message: ChildMessage): void => {
  process.send?.(message);
};

process.on('message', () => {
  const { user, system } = process.cpuUsage();
  const { requestCount, openCount } = double;
  say({ kind: 'stats', requestCount, openCount, cpuMs: (user + system) / 1000 });
});
// Whoever started us is gone: nobody is left to answer.
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

say({ kind: 'listening', baseUrl: double.baseUrl, port: double.port });
