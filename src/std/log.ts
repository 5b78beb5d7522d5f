// Log: structured lines on standard error, one JSON object each; standard output belongs to the program's own words.
// L1 Every line has a category (see the wire format's registry of log categories).
// L2 Members whose names speak of secrets are masked before a line is written.

import { destination, type Logger, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): Log;
}

export const SECRET_MEMBERS: readonly string[] = [
  'api_key',
  'apiKey',
  'authorization',
  'password',
  'token',
  'secret',
  'headers',
];

export function openLog(level: LogLevel, category = 'core'): Log {
  const logger: Logger = pino(
    {
      level,
      base: null,
      redact: { paths: SECRET_MEMBERS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '***' },
      formatters: { level: (label) => ({ level: label }) },
    },
    // Synchronous, so that the last words of a crashing process are not lost.
    destination({ fd: 2, sync: true }),
  );
  return logger.child({ category });
}

export const silentLog: Log = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLog,
};
