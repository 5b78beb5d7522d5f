// Directory: the runs that are accepted and not settled yet, and the hosts that carry them. Pure bookkeeping, no I/O: which
// run is where, which host is free. Who may begin is the business of admission.ts.

import type { Address } from '../../supervisor/protocol.ts';
import type { Prelude } from './prelude.ts';
import type { RunOrigin } from './protocol.ts';

/** Not begun: what is said to it is said here. Or begun: its host knows more. */
export type Whereabouts =
  | {
      readonly at: 'desk';
      readonly prelude: Prelude;
      /** It was lost before: that it begins again is counted. */
      readonly isCounted: boolean;
    }
  | { readonly at: 'host'; readonly host: Address };

export interface LiveRun {
  readonly runId: string;
  readonly sessionId: string;
  readonly userId: string;
  readonly origin: RunOrigin;
  readonly where: Whereabouts;
}

export interface RunHostEntry {
  readonly name: string;
  readonly address: Address;
  /** Its runs, by id. */
  readonly runs: Set<string>;
  /** Takes no more runs; a successor on another thread announces itself. */
  isRetiring: boolean;
}

export class Directory {
  readonly #runs = new Map<string, LiveRun>();
  readonly #hosts = new Map<number, RunHostEntry>();
  readonly #settling = new Set<string>();

  /** Runs that somebody settles at the moment. */
  get settlingCount(): number {
    return this.#settling.size;
  }

  all(): Iterable<LiveRun> {
    return this.#runs.values();
  }

  /** An accepted run that is not settled. */
  find(runId: string): LiveRun | undefined {
    return this.#runs.get(runId);
  }

  /** False for one that is known already: it keeps its runs. */
  addHost(name: string, address: Address): boolean {
    if (this.#hosts.has(address.actor)) return false;
    this.#hosts.set(address.actor, { name, address, runs: new Set(), isRetiring: false });
    return true;
  }

  hasHost({ actor }: Address): boolean {
    return this.#hosts.has(actor);
  }

  retireHost({ actor }: Address): void {
    const host = this.#hosts.get(actor);
    if (host !== undefined) host.isRetiring = true;
  }

  /** Forgets the host; answers the runs that it took with it. */
  loseHost({ actor }: Address): readonly LiveRun[] {
    const host = this.#hosts.get(actor);
    this.#hosts.delete(actor);
    return Array.from(host?.runs ?? []).flatMap((runId) => this.#runs.get(runId) ?? []);
  }

  /** The host with the fewest live runs; undefined while none takes any. */
  freestHost(): RunHostEntry | undefined {
    let freest: RunHostEntry | undefined;
    for (const host of this.#hosts.values()) {
      if (host.isRetiring) continue;
      if (freest === undefined || host.runs.size < freest.runs.size) freest = host;
    }
    return freest;
  }

  /** Enters a run, or says that it is somewhere else now. */
  put(run: LiveRun): void {
    this.#hostOf(run.runId)?.runs.delete(run.runId);
    this.#runs.set(run.runId, run);
    this.#hostOf(run.runId)?.runs.add(run.runId);
  }

  /** The run, the first time that it is to be settled; undefined when somebody is at it, or when it is unknown. */
  beginSettling(runId: string): LiveRun | undefined {
    const run = this.#runs.get(runId);
    if (run === undefined || this.#settling.has(runId)) return undefined;
    this.#settling.add(runId);
    return run;
  }

  /** It goes on after all. */
  endSettling(runId: string): void {
    this.#settling.delete(runId);
  }

  isSettling(runId: string): boolean {
    return this.#settling.has(runId);
  }

  remove(runId: string): void {
    this.#hostOf(runId)?.runs.delete(runId);
    this.#runs.delete(runId);
    this.#settling.delete(runId);
  }

  #hostOf(runId: string): RunHostEntry | undefined {
    const where = this.#runs.get(runId)?.where;
    return where?.at === 'host' ? this.#hosts.get(where.host.actor) : undefined;
  }
}
