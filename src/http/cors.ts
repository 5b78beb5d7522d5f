// CORS: which pages may call the service from a browser or from the desktop shell.
// X1 The shell's own origins are always allowed; the development origins only where nothing else was configured.
// X2 A preflight needs no session and answers 200 with `{}`.
// X3 An origin that is not allowed gets no CORS header; the browser does the refusing.

import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

const SHELL_ORIGINS = ['tauri://localhost', 'http://tauri.localhost', 'https://tauri.localhost'];
const DEVELOPMENT_ORIGINS = ['http://localhost:1420', 'http://127.0.0.1:1420'];

const ALLOWED_HEADERS = [
  'accept',
  'accept-encoding',
  'authorization',
  'content-type',
  'dnt',
  'origin',
  'user-agent',
  'x-csrftoken',
  'x-requested-with',
  'x-auth-token',
  'agentx-gateway-token',
  // Beyond what the clients send today: how a reader of an event stream resumes.
  'last-event-id',
];

/** `any` in debug mode without a configured list. */
export type AllowedOrigins = 'any' | readonly string[];

export interface CorsSettings {
  /** CORS_ALLOWED_ORIGINS: a comma-separated list. */
  readonly allowedOrigins?: string | undefined;
  /** SVC_PUBLIC_HOST: the name under which the service is known outside. */
  readonly publicHost?: string | undefined;
  readonly debug?: boolean | undefined;
}

export function allowedOrigins({
  allowedOrigins = '',
  publicHost = '',
  debug = false,
}: CorsSettings): AllowedOrigins {
  const configured = allowedOrigins
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => origin !== '');
  if (debug && configured.length === 0) return 'any';
  return [
    ...(configured.length === 0 ? DEVELOPMENT_ORIGINS : configured),
    ...SHELL_ORIGINS,
    ...(publicHost === '' ? [] : [`https://${publicHost}`]),
  ];
}

export async function allowOrigins(app: FastifyInstance, origins: AllowedOrigins): Promise<void> {
  await app.register(cors, {
    origin: origins === 'any' ? true : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: ALLOWED_HEADERS,
    credentials: true,
    strictPreflight: false,
    preflightContinue: true,
  });
  app.addHook('onRequest', async (request, reply) => {
    if (request.method === 'OPTIONS') return reply.code(200).send({}); // X2
  });
}
