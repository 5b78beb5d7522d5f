// GatedRuns: runs on a service that wait before their first token until they are let go with a script, so that readers are
// there when it begins and everybody knows when each event is due.

import { type ProviderDouble, startProviderDouble } from '../../test/support/provider-double.ts';
import { type ChatReading, startChat } from '../chat-client.ts';

const MODEL = 'lmstudio:double-1';
/** The first token comes so long after the gate opens: whoever waits for it is told first. */
const LEAD_MS = 200;

export interface Script {
  readonly chunks: readonly string[];
  readonly everyMs: number;
}

export interface GatedRun {
  readonly runId: string;
  /** Answers when the first chunk is due, by the wall clock. */
  letGo(script: Script): number;
  /** As the client sees it who started it; checked for gaps. */
  readonly done: Promise<ChatReading>;
}

export class GatedRuns {
  readonly #double: ProviderDouble;
  readonly #gates: Map<string, Gate>;
  #count = 0;

  private constructor(double: ProviderDouble, gates: Map<string, Gate>) {
    this.#double = double;
    this.#gates = gates;
  }

  static async open(): Promise<GatedRuns> {
    const gates = new Map<string, Gate>();
    const double = await startProviderDouble({
      requestsKeptMax: 0,
      script: async ({ body }) => {
        const gate = gates.get(String(body.messages?.at(-1)?.content));
        gate?.reached.resolve();
        const { chunks, everyMs } = (await gate?.opened.promise) ?? { chunks: [], everyMs: 0 };
        return { text: chunks, chunkDelayMs: everyMs, firstDelayMs: LEAD_MS };
      },
    });
    return new GatedRuns(double, gates);
  }

  /** What the service needs to know. */
  get environment(): Readonly<Record<string, string>> {
    return { LMSTUDIO_BASE_URL: this.#double.baseUrl };
  }

  /** Resolves when the run waits at its gate. */
  async start(service: URL): Promise<GatedRun> {
    this.#count += 1;
    const message = `Wait for gate ${this.#count}.`;
    const gate: Gate = { reached: Promise.withResolvers(), opened: Promise.withResolvers() };
    this.#gates.set(message, gate);
    const { runId, done } = startChat(service, message, MODEL);
    const [id] = await Promise.all([runId, gate.reached.promise]);
    return {
      runId: id,
      done,
      letGo(script) {
        gate.opened.resolve(script);
        return Date.now() + LEAD_MS;
      },
    };
  }

  async stop(): Promise<void> {
    await this.#double.stop();
  }
}

interface Gate {
  readonly reached: PromiseWithResolvers<void>;
  readonly opened: PromiseWithResolvers<Script>;
}
