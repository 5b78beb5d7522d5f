// Strategies: whom of a pool a message goes to. After the routers of Akka and the pools of Proto.Actor.
// S1 `round_robin` and `least_loaded` pass over a routee that is down; the others do its share.
// S2 `consistent_hash` does not: whoever has a key may hold state for it, so its mail is refused until the successor is there.

import type { Envelope } from '../envelope.ts';
import type { KeyOf } from '../loading.ts';
import { memberFor } from './rendezvous.ts';
import type { Routee } from './routee.ts';

export type Strategy = 'round_robin' | 'least_loaded' | 'consistent_hash';

export interface Choice {
  /** Null when the message has to be refused. @throws what the author's key function throws. */
  choose(routees: readonly Routee[], envelope: Envelope): Routee | null;
  /** Whether the routees' loads have to be kept for it. */
  readonly countsLoad: boolean;
}

export function choiceBy(strategy: Strategy, keyOf: KeyOf | null): Choice {
  switch (strategy) {
    case 'round_robin':
      return roundRobin();
    case 'least_loaded':
      return leastLoaded();
    case 'consistent_hash':
      if (keyOf === null) throw new Error('a consistent hash needs a key function');
      return consistentHash(keyOf);
  }
}

function roundRobin(): Choice {
  let turn = 0;
  return {
    countsLoad: false,
    choose: (routees) => {
      for (let tried = 0; tried < routees.length; tried += 1) {
        const routee = routees[turn % routees.length];
        turn = (turn + 1) % routees.length;
        if (routee?.isUp === true) return routee;
      }
      return null;
    },
  };
}

function leastLoaded(): Choice {
  // Ties go round, or an idle pool would have one member that does everything.
  let turn = 0;
  return {
    countsLoad: true,
    choose: (routees) => {
      let least: Routee | null = null;
      for (let i = 0; i < routees.length; i += 1) {
        const routee = routees[(turn + i) % routees.length];
        if (routee?.isUp === true && (least === null || routee.load < least.load)) least = routee;
      }
      turn = (turn + 1) % Math.max(1, routees.length);
      return least;
    },
  };
}

function consistentHash(keyOf: KeyOf): Choice {
  return {
    countsLoad: false,
    choose: (routees, { message, name }) => {
      const routee = memberFor(keyOf(message, name), routees);
      return routee?.isUp === true ? routee : null;
    },
  };
}
