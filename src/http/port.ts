// Port: finds out whether a port may be listened on, before anything is opened on the other side of the house.

import { createServer } from 'node:net';

/** @throws what the system says when the port is taken or not allowed. Somebody may still take it meanwhile. */
export function assertPortFree(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}
