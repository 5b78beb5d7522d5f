// Main: the service as a process. Settings from the environment, one line when it is ready, signals, exit codes.
// M1 A start that fails says why in one line and exits with 1; nothing is touched that is not ours.
// M2 SIGTERM and SIGINT drain and stop within STOP_MAX_MS; a second signal stops at once.

import './heap-policy.ts';
import { resolve } from 'node:path';
import { errorText } from './std/errors.ts';
import { LOG_LEVELS, type LogLevel } from './std/log.ts';
import { createTroupe, PORT_DEFAULT, type Troupe } from './troupe.ts';

const STOP_MAX_MS = 10_000;
const DATA_DIR_DEFAULT = 'data';

interface Settings {
  readonly host: string;
  readonly port: number;
  readonly dataDir: string;
  readonly logLevel: LogLevel;
}

try {
  const settings = readSettings(process.env);
  const troupe = await createTroupe({ ...settings, environment: process.env });
  // Before the line below: whoever reads it may send a signal at once.
  stopOnSignals(troupe);
  console.log(`Troupe ${troupe.version} is ready at ${troupe.url} (data in ${resolve(settings.dataDir)})`);
  void troupe.terminated.then(async (reason) => {
    if (reason.kind === 'stopped') return;
    console.error(`Troupe ended: ${reason.kind === 'crashed' ? reason.message : reason.kind}`);
    process.exitCode = 1;
    await troupe.stop();
    process.exit();
  });
} catch (error) {
  console.error(`Troupe cannot start: ${startFailure(error)}`);
  process.exit(1);
}

function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const port = environment['SVC_PORT'] || String(PORT_DEFAULT);
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error(`SVC_PORT is not a port: ${port}`);
  const logLevel = (environment['SVC_LOG_LEVEL'] || 'info').toLowerCase();
  if (!isLogLevel(logLevel)) {
    throw new Error(`SVC_LOG_LEVEL is ${logLevel}; it must be one of ${LOG_LEVELS.join(', ')}`);
  }
  return {
    host: environment['SVC_HOST'] || '127.0.0.1',
    port: Number(port),
    dataDir: environment['SVC_DATA_DIR'] || DATA_DIR_DEFAULT,
    logLevel,
  };
}

function isLogLevel(text: string): text is LogLevel {
  return (LOG_LEVELS as readonly string[]).includes(text);
}

/** M2. */
function stopOnSignals(troupe: Troupe): void {
  let isStopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (isStopping) process.exit(1);
    isStopping = true;
    console.log(`Troupe is stopping (${signal}); once more to stop at once`);
    // Unref'd: it must not keep the process alive when everything has stopped in time.
    setTimeout(() => process.exit(1), STOP_MAX_MS).unref();
    troupe.stop().then(
      () => process.exit(),
      (error: unknown) => {
        console.error(`Troupe could not stop cleanly: ${errorText(error)}`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
}

/** One line, whatever it was. */
function startFailure(error: unknown): string {
  const { code, address, port } = error as { code?: string; address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `port ${port} of ${address} is taken; set SVC_PORT to another one, or to 0 for any`;
  if (code === 'EACCES') return `port ${port} of ${address} may not be used by this user`;
  return errorText(error).replaceAll('\n', ' ');
}
