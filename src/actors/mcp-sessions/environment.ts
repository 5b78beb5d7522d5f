// Environment: what a server gets to know of ours. Variables that its configuration names are looked up here, and whatever came
// of that is a secret to logs and errors.
// E1 A child process gets BASE_VARIABLES and what is configured for it, nothing else of the service's environment.
// E2 A variable that is not set is an error which names it, never an empty text.

import { mcpSessionFaults } from './protocol.ts';

export type Variables = Readonly<Record<string, string | undefined>>;

/** What programs need to find their files, to speak the user's language and to trust the same certificates. */
const BASE_VARIABLES: readonly string[] = [
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'NODE_EXTRA_CA_CERTS',
  'PATH',
  'SHELL',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
  'TERM',
  'TMPDIR',
  'TZ',
  'USER',
];

/** `$NAME`, `${NAME}`, and `$$` for a dollar sign. */
const REFERENCE = /\$(?:(\$)|\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))/g;
/** What a shell hands on; it would drop other names without a word. */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** @throws mcp_config_invalid for a variable that is not set: E2 */
export function resolved(text: string, variables: Variables, where: string): string {
  return text.replace(REFERENCE, (_match, dollar?: string, braced?: string, plain?: string) => {
    if (dollar !== undefined) return '$';
    const name = (braced ?? plain) as string;
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (value === undefined) {
      throw mcpSessionFaults.mcp_config_invalid(`The variable ${name}, which ${where} names, is not set`);
    }
    return value;
  });
}

/** @throws mcp_config_invalid */
export function resolvedAll(
  texts: Readonly<Record<string, string>>,
  variables: Variables,
  what: string,
): Record<string, string> {
  const entries = Object.entries(texts);
  return Object.fromEntries(
    entries.map(([name, text]) => [name, resolved(text, variables, `${what} ${name}`)]),
  );
}

/** E1. `own` is what the process itself was started with. @throws mcp_config_invalid */
export function childEnvironment(configured: Readonly<Record<string, string>>, own: Variables): Variables {
  for (const name of Object.keys(configured)) {
    if (!VARIABLE_NAME.test(name)) {
      throw mcpSessionFaults.mcp_config_invalid(`${name} cannot be the name of an environment variable`);
    }
  }
  return { ...Object.fromEntries(BASE_VARIABLES.map((name) => [name, own[name]])), ...configured };
}
