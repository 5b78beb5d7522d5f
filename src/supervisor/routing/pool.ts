// Pool: the routees of one router, in the order in which they came.

import { declareFaults } from '../../std/errors.ts';
import type { ActorContext, Behaviour, ChildOptions, Placement, Supervision } from '../actor.ts';
import type { Cell } from '../cell.ts';
import type { ChildHandle, ChildrenObserver } from '../children.ts';
import type { Address } from '../protocol.ts';
import { Routee } from './routee.ts';

export interface RouteeView {
  readonly path: string;
  /** Null while it is down. */
  readonly address: Address | null;
  readonly isUp: boolean;
  /** Messages that it was given and is not done with, as the router knows it; 0 where the strategy does not need it. */
  readonly load: number;
}

export interface PoolOptions {
  readonly routees: number;
  /** Where the routees live, in turn; beside the router when absent. */
  readonly placements?: readonly Placement[];
  readonly supervision?: Partial<Supervision>;
  /** Never resized: what a routee has for its keys must not be taken up by another while it still has it. */
  readonly isFixed?: boolean;
  readonly routee?: Pick<ChildOptions, 'restart' | 'mailbox' | 'shutdownMs'>;
}

export const routerFaults = declareFaults({ pool_size_refused: 'invalid' });

/** Each message looks at every routee: beyond this a tree of routers is quicker. */
const ROUTEES_MAX = 1_024;

// biome-ignore lint/suspicious/noExplicitAny: a router knows nothing of what its routees understand.
export type AnyBehaviour = Behaviour<any, any>;

export class Pool implements ChildrenObserver {
  readonly #context: ActorContext;
  readonly #behaviour: AnyBehaviour;
  readonly #args: unknown;
  readonly #options: PoolOptions;
  readonly #placements: readonly Placement[];
  readonly #routees = new Map<string, Routee>();
  #inOrder: readonly Routee[] = [];
  #idNext = 0;
  #cell: Cell | null = null;

  constructor(context: ActorContext, behaviour: AnyBehaviour, args: unknown, options: PoolOptions) {
    this.#context = context;
    this.#behaviour = behaviour;
    this.#args = args;
    this.#options = options;
    this.#placements = options.placements ?? ['parent'];
  }

  get routees(): readonly Routee[] {
    return this.#inOrder;
  }

  views(): RouteeView[] {
    return this.#inOrder.map(({ path, address, isUp, load }) => ({ path, address, isUp, load }));
  }

  /** From now on it follows what becomes of its members. */
  open(cell: Cell): void {
    this.#cell = cell;
    cell.children.observer = this;
    cell.children.areIndependent = true;
    for (const { id } of this.#inOrder) {
      const handle = cell.children.startedHandleOf(id);
      if (handle !== null) this.started(id, handle);
    }
  }

  async resize(count: number): Promise<void> {
    if (this.#options.isFixed === true)
      throw routerFaults.pool_size_refused('the size of this pool is fixed');
    const starts = this.grow(count);
    const ends = this.#inOrder.slice(count).map((routee) => this.#dismiss(routee));
    // One that ended for good meanwhile is no member any more; the others are there.
    await Promise.allSettled([...starts, ...ends]);
  }

  /** Starts what is missing; each promise settles when one has started, or ended for good. */
  grow(count: number): Promise<void>[] {
    if (!Number.isInteger(count) || count < 1 || count > ROUTEES_MAX)
      throw routerFaults.pool_size_refused(`a pool has 1 to ${ROUTEES_MAX} routees`);
    const starts: Promise<void>[] = [];
    while (this.#routees.size < count) {
      const id = String(this.#idNext);
      const placement = this.#placements[this.#idNext % this.#placements.length] ?? 'parent';
      this.#idNext += 1;
      this.#context.spawn(this.#behaviour, this.#args, { ...this.#options.routee, id, placement });
      this.#routees.set(id, new Routee(id, `${this.#context.path}/${id}`));
      starts.push(this.#context.childStarted(id));
    }
    this.#order();
    return starts;
  }

  started(id: string, handle: ChildHandle): void {
    if (this.#cell !== null) this.#routees.get(id)?.seat(handle, this.#cell.runtime);
  }

  left(id: string): void {
    this.#routees.get(id)?.vacate();
  }

  forgotten(id: string): void {
    this.#routees.get(id)?.vacate();
    if (this.#routees.delete(id)) this.#order();
  }

  /** R4. */
  async #dismiss(routee: Routee): Promise<void> {
    this.forgotten(routee.id);
    await this.#context.stopChild(routee.id, { drain: true });
  }

  #order(): void {
    this.#inOrder = [...this.#routees.values()];
  }
}
