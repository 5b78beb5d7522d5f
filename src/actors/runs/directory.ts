// Directory: the live runs as the edge knows them. Pure bookkeeping, no I/O: which run is where, which host is free.

import type { Address } from '../../supervisor/protocol.ts';

export interface LiveRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly host: Address;
}

export interface RunHostEntry {
  readonly name: string;
  readonly address: Address;
  liveCount: number;
  /** Takes no more runs; a successor on another thread announces itself. */
  isRetiring: boolean;
}

export class Directory {
  readonly #runs = new Map<string, LiveRun>();
  readonly #hosts = new Map<number, RunHostEntry>();
  readonly #settling = new Set<string>();

  get liveCount(): number {
    return this.#runs.size;
  }

  live(): Iterable<LiveRun> {
    return this.#runs.values();
  }

  get sessionCount(): number {
    return new Set(Array.from(this.#runs.values(), ({ sessionId }) => sessionId)).size;
  }

  find(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  addHost(name: string, address: Address): void {
    this.#hosts.set(address.actor, { name, address, liveCount: 0, isRetiring: false });
  }

  hasHost({ actor }: Address): boolean {
    return this.#hosts.has(actor);
  }

  retireHost({ actor }: Address): void {
    const host = this.#hosts.get(actor);
    if (host !== undefined) host.isRetiring = true;
  }

  /** Forgets the host; answers the runs that it took with it. */
  loseHost(address: Address): readonly LiveRun[] {
    this.#hosts.delete(address.actor);
    return [...this.#runs.values()].filter(({ host }) => host.actor === address.actor);
  }

  /** The host with the fewest live runs; undefined while none takes any. */
  freestHost(): RunHostEntry | undefined {
    let freest: RunHostEntry | undefined;
    for (const host of this.#hosts.values()) {
      if (host.isRetiring) continue;
      if (freest === undefined || host.liveCount < freest.liveCount) freest = host;
    }
    return freest;
  }

  add(run: LiveRun): void {
    this.#runs.set(run.runId, run);
    const host = this.#hosts.get(run.host.actor);
    if (host !== undefined) host.liveCount += 1;
  }

  /** The run, the first time that it is to be settled; undefined when somebody is at it, or when it is not live. */
  beginSettling(runId: string): LiveRun | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined || this.#settling.has(runId)) return undefined;
    this.#settling.add(runId);
    return run;
  }

  remove(runId: string): LiveRun | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    this.#runs.delete(runId);
    this.#settling.delete(runId);
    const host = this.#hosts.get(run.host.actor);
    if (host !== undefined) host.liveCount -= 1;
    return run;
  }
}
