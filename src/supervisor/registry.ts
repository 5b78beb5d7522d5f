// Registry: which live actor bears which name, as one thread knows it.
// N1 One live actor per name. The main thread's registry is the authority; workers hold copies that follow it.
// N2 A name is free again as soon as its bearer has ended.

import type { Address } from './protocol.ts';

export class Registry {
  readonly #addresses = new Map<string, Address>();

  /** False when a living actor has the name already. */
  register(name: string, address: Address): boolean {
    if (this.#addresses.has(name)) return false;
    this.#addresses.set(name, address);
    return true;
  }

  /** A copy follows its authority: what was there is replaced. */
  follow(name: string, address: Address): void {
    this.#addresses.set(name, address);
  }

  /** True when the name was this actor's. A successor that took the name meanwhile keeps it. */
  unregister(name: string, actor: number): boolean {
    if (this.#addresses.get(name)?.actor !== actor) return false;
    this.#addresses.delete(name);
    return true;
  }

  find(name: string): Address | undefined {
    return this.#addresses.get(name);
  }

  /** Names whose bearers lived on a thread that is gone are free; answers which. */
  forgetThread(thread: number): readonly string[] {
    const lost = [...this.#addresses]
      .filter(([, address]) => address.thread === thread)
      .map(([name]) => name);
    for (const name of lost) this.#addresses.delete(name);
    return lost;
  }

  entries(): Iterable<readonly [string, Address]> {
    return this.#addresses;
  }
}
