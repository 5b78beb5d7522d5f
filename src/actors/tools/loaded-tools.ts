// LoadedTools: which tools of MCP servers were found in a conversation, so that its next turns, and a turn that is resumed, are
// offered them too. In memory only: what is forgotten is found again, and can be called meanwhile.

const CONVERSATIONS_MAX = 1_000;
const TOOLS_MAX = 64;

export class LoadedTools {
  /** By conversation, the one that was used last at the end; names, the newest at the end. */
  readonly #names = new Map<string, ReadonlySet<string>>();

  add(conversation: string, names: readonly string[]): void {
    const known = this.#names.get(conversation) ?? new Set();
    const fresh = new Set(names);
    const all = [...[...known].filter((name) => !fresh.has(name)), ...fresh];
    this.#keep(conversation, new Set(all.slice(-TOOLS_MAX)));
  }

  of(conversation: string | undefined): ReadonlySet<string> {
    const names = conversation === undefined ? undefined : this.#names.get(conversation);
    if (conversation === undefined || names === undefined) return NONE;
    this.#keep(conversation, names);
    return names;
  }

  #keep(conversation: string, names: ReadonlySet<string>): void {
    this.#names.delete(conversation);
    this.#names.set(conversation, names);
    if (this.#names.size <= CONVERSATIONS_MAX) return;
    const [oldest] = this.#names.keys();
    if (oldest !== undefined) this.#names.delete(oldest);
  }
}

const NONE: ReadonlySet<string> = new Set();
