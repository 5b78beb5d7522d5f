// An MCP server over streamable HTTP whose sessions a test can end, and which does what no server should do.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';

export interface HttpServerDouble {
  readonly url: string;
  /** Tool calls that were executed, by their argument `mark`. */
  readonly executed: string[];
  readonly sessions: ReadonlySet<string>;
  /** Headers of the last request. */
  readonly lastHeaders: IncomingMessage['headers'];
  /** As a server does that was restarted. */
  forgetSessions(): void;
  /** Takes requests, or answers 401. */
  signedIn: boolean;
  /** How an unknown session is refused. */
  refusal: 404 | 400;
  /** What there is for a GET: nothing, a stream that stays open, one that ends at once, or an error. */
  stream: 'none' | 'open' | 'brief' | 'error';
  /** So many GETs have come. */
  readonly streamsAsked: number;
  endStreams(): void;
  readonly tools: string[];
}

export async function startHttpServer(): Promise<HttpServerDouble> {
  const sessions = new Set<string>();
  const executed: string[] = [];
  const streams: ServerResponse[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    state.lastHeaders = request.headers;
    handle(request, response).catch((error: unknown) => {
      response.destroy();
      if (request.complete) throw error; // Else it left in the middle of its request.
    });
  });
  const state = {
    url: '',
    executed,
    sessions,
    lastHeaders: {} as IncomingMessage['headers'],
    forgetSessions: () => sessions.clear(),
    signedIn: true,
    refusal: 404 as 404 | 400,
    stream: 'none' as HttpServerDouble['stream'],
    streamsAsked: 0,
    endStreams() {
      for (const stream of streams.splice(0)) stream.end();
    },
    tools: ['mark', 'break', 'hang'],
  };

  function openStream(response: ServerResponse): void {
    state.streamsAsked += 1;
    if (state.stream === 'none') return void response.writeHead(405).end();
    if (state.stream === 'error') return void response.writeHead(503).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('retry: 1\n\n');
    if (state.stream === 'brief') response.end();
    else streams.push(response);
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!state.signedIn) return void response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    if (request.url === '/rude') {
      return void response.writeHead(403).end(`nobody knows ${request.headers.authorization}`);
    }
    if (request.url === '/elsewhere') {
      return void response.writeHead(307, { location: 'http://localhost:1/mcp' }).end();
    }
    if (request.url === '/huge') {
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end('x'.repeat(17 * 1024 * 1024));
    }
    const session = String(request.headers['mcp-session-id'] ?? '');
    if (request.method === 'DELETE')
      return void response.writeHead(sessions.delete(session) ? 200 : 404).end();
    if (request.method === 'GET') return openStream(response);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { id, method, params } = JSON.parse(body);
    const answer = (result: object, headers: Record<string, string> = {}): void => {
      response.writeHead(200, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    };
    if (method === 'initialize') {
      count += 1;
      sessions.add(`session-${count}`);
      const { protocolVersion } = params;
      const serverInfo = { name: 'http-double', version: '1' };
      return answer(
        { protocolVersion, capabilities: { tools: {} }, serverInfo },
        { 'mcp-session-id': `session-${count}` },
      );
    }
    if (!sessions.has(session)) {
      return void response
        .writeHead(state.refusal)
        .end('{"error": {"message": "No valid session ID provided"}}');
    }
    if (id === undefined) return void response.writeHead(202).end();
    if (method === 'tools/list') {
      return answer({
        tools: state.tools.map((name) => ({ name, inputSchema: { type: 'object' } })),
      });
    }
    if (method !== 'tools/call') return answer({});
    executed.push(params.arguments.mark);
    if (params.name === 'mark') return answer({ content: [{ type: 'text', text: session }] });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (params.name === 'break') response.end(': nothing comes\n\n');
    else response.flushHeaders();
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  state.url = `http://127.0.0.1:${address.port}/mcp`;
  return state;
}
