// Member: a thread other than the main one, as a part of the actor system. It joins, takes orders, and leaves with a
// handshake. The same in a worker and in a simulated thread.
// O1 `ready` is sent as soon as it has joined: its bootstrap's services are up by then; a spare waits there.
// O2 An exit without `goodbye` is a crash, whatever its code (see thread-pool.ts).
// O3 It has no threads to give: the main thread says where its actors' children go (see pending-child.ts).

import { MAIN_THREAD, type Runtime } from '../runtime.ts';
import type { Link } from './link.ts';
import { Remote, type ThreadSource } from './remote.ts';
import { Retirement } from './retirement.ts';
import type { BehaviourLoader, ThreadSeed } from './thread-starter.ts';
import type { Batch, Port, SignalFrame } from './wire.ts';

/** What the thread itself knows. */
export interface MemberHost {
  readonly loadBehaviour?: BehaviourLoader;
  heapUsedBytes(): number;
  /** How late the event loop was, at worst since the last call. */
  loopLagMs(): number;
  /** Takes a batch that has arrived and was not listened to yet. */
  receive(port: Port): Batch | undefined;
  /** Ends the services of the thread. */
  close(): Promise<void>;
  /** Ends the thread. */
  exit(): void;
}

export function joinSystem(runtime: Runtime, seed: ThreadSeed, host: MemberHost): void {
  // O3
  const source: ThreadSource = {
    place: (placement, actor, path) => {
      main.signal({ kind: 'place', placement, actor, path });
      return null;
    },
    giveBack: (thread) => main.signal({ kind: 'give_back', thread }),
    giveUpStarting: (thread) => main.signal({ kind: 'give_up', thread }),
    condemn: (thread) => {
      // The main thread cannot be ended; what it has sent is missing here, so this one does not go on.
      if (thread === MAIN_THREAD) throw new Error('the main thread has sent what cannot be read');
      main.signal({ kind: 'condemn', thread });
    },
  };
  let retirement: Retirement | null = null;
  const remote = new Remote(runtime, source, onSignal, host.loadBehaviour);
  for (const [name, address] of seed.names) runtime.registry.follow(name, address);
  const main = remote.join(MAIN_THREAD, seed.port);
  main.signal({ kind: 'ready' });

  function onSignal(frame: SignalFrame): void {
    switch (frame.kind) {
      case 'connect':
        remote.join(frame.thread, frame.port);
        return;
      case 'thread_gone':
        remote.receiveLast(frame.thread, (port) => host.receive(port));
        remote.threadLost(frame.thread, frame.message);
        return;
      case 'ping':
        report();
        retirement?.step();
        return;
      case 'retire':
        retirement = new Retirement(runtime, frame.graceMs, () => main.signal({ kind: 'vacated' }));
        return;
      case 'shutdown':
        void leave(runtime, main, host);
        return;
      default:
        return;
    }
  }

  function report(): void {
    const health = {
      actors: runtime.cells.size,
      heapUsedBytes: host.heapUsedBytes(),
      loopLagMs: host.loopLagMs(),
      counters: { ...runtime.counters },
      queued: runtime.queued(),
    };
    main.signal({ kind: 'pong', health });
    remote.flush();
  }
}

async function leave(runtime: Runtime, main: Link, host: MemberHost): Promise<void> {
  try {
    await host.close();
  } catch (error) {
    runtime.log.error({ error: String(error) }, 'a thread could not close its services');
  }
  runtime.deadlines.close();
  main.signal({ kind: 'goodbye' });
  main.flush();
  host.exit();
}
