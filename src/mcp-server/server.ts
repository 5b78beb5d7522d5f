// McpServer: an offer of tools as a server of the MCP protocol, for whichever transport it is then connected to. Both ways in
// use it: the edge (src/http/mcp), whose offer are actors, and the stdio bridge, whose offer is a running service.
// V1 Progress is sent only to whoever asked for it, numbered upwards from 1.
// V2 A tool that fails answers; only what was no call of a tool is an error of the protocol.

import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type Tool,
} from '@modelcontextprotocol/server';
import { type Fault, isFault } from '../std/errors.ts';

export interface CallOptions {
  /** Aborted when the client gave the call up, or its connection was closed. */
  readonly signal: AbortSignal;
  /** Null where the client did not ask for progress. */
  readonly onProgress: ((message: string) => void) | null;
}

/** What can be called, wherever that lives. */
export interface ToolOffer {
  tools(): Promise<Tool[]>;
  call(name: string, given: Readonly<Record<string, unknown>>, options: CallOptions): Promise<CallToolResult>;
}

const INSTRUCTIONS =
  'Troupe runs AI agents. run_agent gives one a message and answers with its reply; a run that takes long can be left, and ' +
  'its result read later with read_run.';

export function mcpServer(offer: ToolOffer, version: string): Server {
  const server = new Server(
    { name: 'troupe', title: 'Troupe', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', async () => ({ tools: await offer.tools() }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    let progress = 0;
    const report = (message: string): void => {
      if (progressToken === undefined) return;
      progress += 1;
      // Whoever has left hears no more of it; that is told by the signal.
      mcpReq
        .notify({ method: 'notifications/progress', params: { progressToken, progress, message } })
        .catch(() => undefined);
    };
    try {
      return await offer.call(params.name, params.arguments ?? {}, {
        signal: mcpReq.signal,
        onProgress: progressToken === undefined ? null : report, // V1
      });
    } catch (error) {
      throw isFault(error) ? protocolError(error) : error;
    }
  });
  return server;
}

/** V2. */
function protocolError({ code, message, kind }: Fault): ProtocolError {
  const is = kind === 'invalid' ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError;
  return new ProtocolError(is, message, { code });
}
