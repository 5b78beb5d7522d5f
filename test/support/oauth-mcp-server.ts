// An MCP server behind an authorization server, both real and on 127.0.0.1: `const remote = await openOAuthMcpServer()`.
// It tells where to sign in (RFC 9728), takes the tokens that the authorization server vouches for and that were made for it, with
// the scope `mcp:tools`; its tool `rule` wants `mcp:admin` too.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import {
  createMcpHandler,
  McpServer,
  OAuthError,
  requireBearerAuth,
  requireScopes,
} from '@modelcontextprotocol/server';
import { onTestFinished } from 'vitest';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  startAuthorizationServer,
} from './authorization-server.ts';

export { STATIC_CLIENT } from './authorization-server.ts';

/** Each has an address of its own, also when it is given the port of one that has ended. */
let opened = 0;

export interface OAuthMcpServer {
  readonly url: string;
  readonly origin: string;
  readonly authorization: AuthorizationServer;
  /** The paths that were asked for, in order. */
  readonly paths: readonly string[];
  /** The bearer tokens that came with requests, each once. */
  readonly tokens: ReadonlySet<string>;
  /** Takes no token that was given until now. */
  distrust(): void;
}

export interface OAuthMcpServerOptions extends AuthorizationServerOptions {
  /** What it says instead about where to sign in; as text, it is sent as it is. */
  readonly metadata?: (
    usual: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>> | string;
}

/** Ends with the test. */
export async function openOAuthMcpServer(options: OAuthMcpServerOptions = {}): Promise<OAuthMcpServer> {
  const authorization = await startAuthorizationServer(options);
  opened += 1;
  const ownPath = `/mcp/${opened}`;
  const metadataPath = `/.well-known/oauth-protected-resource${ownPath}`;
  const paths: string[] = [];
  const tokens = new Set<string>();
  let distrusted: ReadonlySet<string> = new Set();
  const handler = createMcpHandler(mcpServer);
  const http = createServer(
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const url = origin + ownPath;
  onTestFinished(async () => {
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
    await handler.close();
    await authorization.close();
  });

  const gate = requireBearerAuth({
    requiredScopes: ['mcp:tools'],
    resourceMetadataUrl: origin + metadataPath,
    expectedResource: new URL(url),
    verifier: {
      async verifyAccessToken(token) {
        tokens.add(token);
        const said = distrusted.has(token) ? null : await authorization.introspect(token);
        if (said === null) throw new OAuthError('invalid_token', 'not one of ours');
        const { scope, aud, exp, client_id } = said;
        return {
          token,
          clientId: client_id,
          scopes: scope.split(' '),
          expiresAt: exp,
          resource: new URL(aud),
        };
      },
    },
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '';
    paths.push(path);
    if (path === metadataPath) return send(response, metadata());
    if (path !== ownPath) return send(response, new Response(null, { status: 404 }));
    const asked = await webRequest(request, url);
    const auth = await gate(asked);
    return send(response, auth instanceof Response ? auth : await handler.fetch(asked, { authInfo: auth }));
  }

  function metadata(): Response {
    const usual = {
      resource: url,
      authorization_servers: [authorization.issuer],
      scopes_supported: ['mcp:tools'],
      bearer_methods_supported: ['header'],
    };
    const said = options.metadata?.(usual) ?? usual;
    return new Response(typeof said === 'string' ? said : JSON.stringify(said), {
      headers: { 'content-type': 'application/json' },
    });
  }

  return {
    url,
    origin,
    authorization,
    paths,
    tokens,
    distrust() {
      distrusted = new Set(tokens);
    },
  };
}

function mcpServer(): McpServer {
  const server = new McpServer({ name: 'guarded', version: '1.0.0' });
  const answering = (text: string) => async () => ({ content: [{ type: 'text' as const, text }] });
  server.registerTool('greet', { description: 'Says hello' }, answering('hello, whoever signed in'));
  server.registerTool(
    'rule',
    { description: 'For administrators', scopeChallenge: requireScopes('mcp:tools', 'mcp:admin') },
    answering('so be it'),
  );
  return server;
}

async function webRequest(request: IncomingMessage, url: string): Promise<Request> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const { method = 'GET' } = request;
  return new Request(url, { method, headers, ...(parts.length === 0 ? {} : { body: Buffer.concat(parts) }) });
}

async function send(to: ServerResponse, { status, headers, body }: Response): Promise<void> {
  to.writeHead(status, Object.fromEntries(headers));
  if (body === null) to.end();
  else Readable.fromWeb(body as never).pipe(to);
}
