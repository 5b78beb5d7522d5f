// The door of the edge's tests: a listening server over actors that are plain functions, gone when the test is over.

import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ActorDoor, Binding } from '../../src/http/route.ts';
import { createHttpEdge, type HttpEdge, type HttpEdgeOptions } from '../../src/http/server.ts';
import { type Log, silentLog } from '../../src/std/log.ts';

export interface OpenEdge {
  readonly url: string;
  readonly port: number;
  readonly edge: HttpEdge;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever came back.
  readonly body: any;
}

export async function openEdge(
  door: ActorDoor,
  bindings: readonly Binding[],
  options: Partial<HttpEdgeOptions> = {},
): Promise<OpenEdge> {
  const edge = await createHttpEdge({
    host: '127.0.0.1',
    port: 0,
    door,
    bindings,
    log: silentLog,
    version: '1.2.3',
    ...options,
  });
  onTestFinished(() => edge.close());
  const url = await edge.listen();
  return {
    url,
    port: Number(new URL(url).port),
    edge,
    async send(method, path, body, headers = {}) {
      const response = await fetch(url + path, {
        method,
        ...(body === undefined
          ? { headers }
          : {
              headers: { 'content-type': 'application/json', ...headers },
              body: typeof body === 'string' ? body : JSON.stringify(body),
            }),
      });
      const text = await response.text();
      const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
      return {
        status: response.status,
        headers: response.headers,
        body: isJson && text !== '' ? JSON.parse(text) : text,
      };
    },
  };
}

/** A connection of which the test reads and writes every byte; paused until it is read. */
export async function rawConnection(port: number, request: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  socket.write(request);
  return socket;
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

export function recordedLog(): { readonly log: Log; readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, fields: fields as Record<string, unknown>, message });
  };
  const log: Log = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => log,
  };
  return { log, lines };
}
