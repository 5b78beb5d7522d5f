import { describe, expect, test } from 'vitest';
import { allowedOrigins } from '../../src/http/cors.ts';
import { bind } from '../../src/http/route.ts';
import { Type } from '../../src/std/schema.ts';
import { call, protocol } from '../../src/supervisor/protocol.ts';
import { ActorDoorDouble } from '../support/actor-door.ts';
import { openEdge } from './edge.ts';

const SHELL = ['tauri://localhost', 'http://tauri.localhost', 'https://tauri.localhost'];

describe('the allowed origins', () => {
  test('are the development pages and the shell when nothing is configured', () => {
    expect(allowedOrigins({})).toEqual(['http://localhost:1420', 'http://127.0.0.1:1420', ...SHELL]);
  });

  test('are the configured list and the shell, and the public host over https', () => {
    expect(
      allowedOrigins({
        allowedOrigins: 'https://a.example, https://b.example,',
        publicHost: 'troupe.example',
      }),
    ).toEqual(['https://a.example', 'https://b.example', ...SHELL, 'https://troupe.example']);
  });

  test('are all of them in debug mode, unless a list is configured', () => {
    expect(allowedOrigins({ debug: true })).toBe('any');
    expect(allowedOrigins({ debug: true, allowedOrigins: 'https://a.example' })).toEqual([
      'https://a.example',
      ...SHELL,
    ]);
  });
});

describe('a page', () => {
  const probe = protocol('probe', { read: call({ request: Type.Object({}), reply: Type.Object({}) }) });
  const open = () =>
    openEdge(new ActorDoorDouble().seat(probe, { read: () => ({}) }), [
      bind('GET', '/api/probe', probe, 'read'),
    ]);
  const preflight = (origin: string) => ({
    origin,
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'content-type,x-auth-token,agentx-gateway-token',
  });

  test('of an allowed origin may read answers, errors too, with credentials', async () => {
    const { send } = await open();
    for (const path of ['/api/probe', '/api/nothing']) {
      const { headers } = await send('GET', path, undefined, { origin: 'http://localhost:1420' });
      expect(headers.get('access-control-allow-origin')).toBe('http://localhost:1420');
      expect(headers.get('access-control-allow-credentials')).toBe('true');
      expect(headers.get('vary')).toMatch(/origin/i);
    }
  });

  test('of an allowed origin has its preflight answered with 200 and an empty object', async () => {
    const { send } = await open();
    for (const path of ['/api/probe', '/api/anything/else']) {
      const { status, body, headers } = await send(
        'OPTIONS',
        path,
        undefined,
        preflight('tauri://localhost'),
      );
      expect([status, body]).toEqual([200, {}]);
      expect(headers.get('access-control-allow-origin')).toBe('tauri://localhost');
      expect(headers.get('access-control-allow-methods')).toContain('PATCH');
      const allowed = headers.get('access-control-allow-headers')?.split(', ');
      expect(allowed).toEqual(
        expect.arrayContaining(['content-type', 'x-auth-token', 'agentx-gateway-token']),
      );
    }
  });

  test('of another origin gets no permission', async () => {
    const { send } = await open();
    const get = await send('GET', '/api/probe', undefined, { origin: 'https://evil.example' });
    const options = await send('OPTIONS', '/api/probe', undefined, preflight('https://evil.example'));
    expect(get.headers.get('access-control-allow-origin')).toBeNull();
    expect(options.headers.get('access-control-allow-origin')).toBeNull();
    expect(options.status).toBe(200);
  });

  test('may send a bare OPTIONS', async () => {
    const { send } = await open();
    expect(await send('OPTIONS', '/api/probe')).toMatchObject({ status: 200, body: {} });
  });
});
