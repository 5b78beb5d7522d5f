// Mcp: `npm run --silent mcp [-- URL]`. A running Troupe as an MCP server on standard input and output, for programs that start
// theirs themselves. A thin bridge: it opens no data folder, so that it never meets the service that holds it.
// B1 Standard output carries the protocol and nothing else; what there is to say to people goes to standard error.
// B2 It ends when its client closes standard input, and with 1 when there is no service to speak to.

import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { errorText } from '../std/errors.ts';
import { connectTo, type RunningService } from './running-service.ts';
import { mcpServer } from './server.ts';

const PORT_DEFAULT = 12_319;
/** Of the bridge; its clients are told the version of the service behind it. */
const BRIDGE_VERSION = '1';

const service = serviceOf(process.argv.slice(2), process.env['SVC_PORT']);
if (service === null) {
  process.stderr.write('usage: npm run --silent mcp [-- URL]\n');
  process.exitCode = 2;
} else {
  try {
    serve(await connectTo(service, BRIDGE_VERSION));
  } catch (error) {
    process.stderr.write(`troupe mcp: ${errorText(error)}\n`);
    process.exitCode = 1;
  }
}

function serve(running: RunningService): void {
  serveStdio(() => mcpServer(running, running.version), {
    onerror: (error) => process.stderr.write(`troupe mcp: ${errorText(error)}\n`),
  });
  const end = (): void => {
    void running.close().finally(() => process.exit());
  };
  process.stdin.once('end', end); // B2
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end);
}

/** Null when the arguments are no single URL. */
function serviceOf(words: readonly string[], port: string | undefined): URL | null {
  const [text = `http://127.0.0.1:${port || PORT_DEFAULT}`, ...others] = words;
  const url = URL.canParse(text) ? new URL(text) : null;
  return others.length === 0 && (url?.protocol === 'http:' || url?.protocol === 'https:') ? url : null;
}
