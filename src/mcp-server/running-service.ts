// RunningService: the tools of a Troupe that runs, over its `/mcp`. What a program here calls is called there.
// R1 One sentence says what is wrong: nobody answers, it is no Troupe, or its MCP server is off.
// R2 A service that goes away and comes back is met again with the next call: nothing is held between two of them.

import { Client, SdkHttpError, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { declareFaults } from '../std/errors.ts';
import type { ToolOffer } from './server.ts';

/** Longer than any call waits there; each word of progress starts it anew. */
const CALL_TIMEOUT_MS = 3_700_000;
const CONNECT_TIMEOUT_MS = 10_000;

const bridgeFaults = declareFaults({ service_unreachable: 'unavailable' });

export interface RunningService extends ToolOffer {
  readonly version: string;
  close(): Promise<void>;
}

/** @throws service_unreachable (R1) */
export async function connectTo(service: URL, version: string): Promise<RunningService> {
  const client = new Client({ name: 'troupe-stdio', version }, { versionNegotiation: { mode: 'auto' } });
  await told(service, () =>
    client.connect(new StreamableHTTPClientTransport(new URL('/mcp', service)), {
      timeout: CONNECT_TIMEOUT_MS,
    }),
  );
  return {
    version: client.getServerVersion()?.version ?? version,
    // Asked for anew each time: the other side may have learnt something.
    tools: async () =>
      (await told(service, () => client.listTools(undefined, { cacheMode: 'refresh' }))).tools,
    call: (name, given, { signal, onProgress }) =>
      told(service, () =>
        client.callTool(
          { name, arguments: given },
          {
            signal,
            timeout: CALL_TIMEOUT_MS,
            resetTimeoutOnProgress: true,
            ...(onProgress === null ? {} : { onprogress: ({ message }) => onProgress(message ?? '') }),
          },
        ),
      ),
    close: () => client.close(),
  };
}

/** R1. What the service itself answered is passed on as it is. */
async function told<T>(service: URL, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const sentence = sentenceOf(error, service);
    if (sentence === null) throw error;
    throw bridgeFaults.service_unreachable(sentence, { cause: error });
  }
}

function sentenceOf(error: unknown, service: URL): string | null {
  const http = failedAnswer(error);
  if (http !== null) {
    if (http.status !== 404) return `Troupe at ${service.origin} answers ${http.status} to MCP`;
    return (
      `${service.origin} offers no MCP. If that is Troupe, switch it on: ` +
      `POST ${service.origin}/api/config/update {"mcp":{"server":{"enabled":true}}}`
    );
  }
  if (!isUnreachable(error)) return null;
  return `No Troupe answers at ${service.origin}. Start one with \`npm start\` in its folder, or name another: npm run mcp -- URL`;
}

function failedAnswer(error: unknown): SdkHttpError | null {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof SdkHttpError) return at;
  return null;
}

/** As fetch tells it: a TypeError, whose cause is the system's. */
function isUnreachable(error: unknown): boolean {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof TypeError || 'syscall' in at) return true;
  }
  return false;
}
