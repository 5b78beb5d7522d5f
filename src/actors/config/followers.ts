// Followers: who wants to hear which settings are changed. Owned by the config actor.
// F1 A follower that is busy gets what has come meanwhile at once, each key once: there is no queue to overflow.

import type { SettingKey } from './settings.ts';

export interface Followers {
  publish(keys: readonly SettingKey[]): void;
  follow(signal: AbortSignal): AsyncGenerator<readonly SettingKey[], void, undefined>;
}

export function createFollowers(): Followers {
  const followers = new Set<(keys: readonly SettingKey[]) => void>();
  return {
    publish(keys) {
      for (const tell of followers) tell(keys);
    },
    async *follow(signal) {
      const missed = new Set<SettingKey>();
      let wake = (): void => undefined;
      const tell = (keys: readonly SettingKey[]): void => {
        for (const key of keys) missed.add(key);
        wake();
      };
      const stop = (): void => wake();
      followers.add(tell);
      signal.addEventListener('abort', stop);
      try {
        while (!signal.aborted) {
          if (missed.size === 0) {
            await new Promise<void>((resolve) => {
              wake = resolve;
            });
            continue;
          }
          const keys = [...missed]; // F1
          missed.clear();
          yield keys;
        }
      } finally {
        followers.delete(tell);
        signal.removeEventListener('abort', stop);
      }
    },
  };
}
