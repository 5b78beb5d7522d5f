// The reference server of the protocol, which we did not write, as a process of its own over either of its HTTP transports.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';
import { EVERYTHING } from './mcp-everything-path.ts';

export { EVERYTHING };

export interface EverythingServer {
  readonly url: string;
  /** kill -9, and a new one on the same port. */
  restart(): Promise<void>;
}

export async function startEverything(mode: 'sse' | 'streamableHttp'): Promise<EverythingServer> {
  const port = await freePort();
  let child = await start(mode, port);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  return {
    url: `http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`,
    async restart() {
      child.kill('SIGKILL');
      await once(child, 'exit');
      child = await start(mode, port);
    },
  };
}

async function start(mode: string, port: number) {
  const child = spawn(process.execPath, [EVERYTHING, mode], {
    env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  while (!/(listening|running) on port/i.test(said)) {
    const [chunk] = await Promise.race([
      once(child.stderr, 'data'),
      once(child.stdout, 'data'),
      once(child, 'exit'),
    ]);
    if (child.exitCode !== null) throw new Error(`the server ended: ${said}`);
    said += String(chunk);
  }
  child.stdout.resume();
  child.stderr.resume();
  return child;
}
