// ToolNames: what the models call the tools of servers. Pure.
// N1 A name is one that every model's API takes: letters, digits, `_` and `-`, at most 64, beginning with a letter or `_`.
// N2 Two tools never have the same name, and a tool has the same name as long as those that are alike stay the same.

import { sha256Hex } from '../../std/hashes.ts';

const NAME_CHARS_MAX = 64;
const DIGEST_DIGITS = 10;
/** No built-in tool has it in its name. */
const SEPARATOR = '__';

export interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** `server.tool`: what people call it. */
export function labelOf({ server, tool }: NamedTool): string {
  return `${server}.${tool}`;
}

/** The names, in the order of the tools. */
export function toolNames(tools: readonly NamedTool[]): readonly string[] {
  const plain = tools.map(plainName);
  // What is too long, or is what another one's name comes to as well, ends with a digest of its label; and so does what is
  // called like the outcome of that.
  const told = digestShared(plain, plain, tools, (name) => name.length > NAME_CHARS_MAX);
  return digestShared(told, plain, tools, () => false);
}

function digestShared(
  names: readonly string[],
  plain: readonly string[],
  tools: readonly NamedTool[],
  isUnfit: (name: string) => boolean,
): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return names.map((name, i) =>
    isUnfit(name) || counts.get(name) !== 1 ? digested(plain[i] as string, tools[i] as NamedTool) : name,
  );
}

function plainName({ server, tool }: NamedTool): string {
  const name = `${server}${SEPARATOR}${tool}`.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`;
}

function digested(name: string, tool: NamedTool): string {
  // With a sign between that no server's name has: `a.b` of `c` is not `c` of `b` of `a`.
  const digest = sha256Hex(`${tool.server}/${tool.tool}`).slice(0, DIGEST_DIGITS);
  return `${name.slice(0, NAME_CHARS_MAX - DIGEST_DIGITS - 1)}_${digest}`;
}
