// FreePort: for a server that is started on a port of the test's choice, now or again later.

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to who asks for any: until it is taken nobody else is given it. */
const FROM = 20_000;
const TO = 32_000;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FROM, TO);
    const probe = createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    probe.close();
    await once(probe, 'close');
    return port;
  }
}
