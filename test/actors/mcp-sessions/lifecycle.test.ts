// Which connection comes when, on a clock that the test moves. What connects, and what does not, is said by the test.

import { expect, test } from 'vitest';
import { Lifecycle, type Link } from '../../../src/actors/mcp-sessions/lifecycle.ts';
import { mcpSessionFaults } from '../../../src/actors/mcp-sessions/protocol.ts';
import { ManualClock } from '../../../src/supervisor/testkit/index.ts';
import { openSystem } from '../../support/actor-system.ts';
import { openParent } from '../../support/parent.ts';

const HELD_MS = 60_000;

test.each(['is lost', 'rests'] as const)(
  'failures before a connection that has held do not count when it %s',
  async (end) => {
    const clock = new ManualClock();
    const system = await openSystem({ clock });
    const link: Link = { ended: new Promise(() => undefined), close: () => Promise.resolve() };
    let isThere = false;
    const lifecycle: Lifecycle<Link> = new Lifecycle(openParent(system), {
      open: () =>
        isThere ? Promise.resolve(link) : Promise.reject(mcpSessionFaults.mcp_connect_failed('not there')),
      isReconnecting: true,
      attemptsMax: () => 1,
      changed: () => undefined,
    });
    await expect(lifecycle.connect()).rejects.toThrow('not there');
    expect(lifecycle.phase).toMatchObject({ kind: 'waiting', after: { failures: 1 } });
    isThere = true;
    expect(await lifecycle.connect()).toBe(link);
    await clock.advance(HELD_MS);

    if (end === 'is lost') lifecycle.replace(link, 'it is gone');
    else {
      isThere = false;
      lifecycle.rest();
      await expect(lifecycle.connect()).rejects.toThrow('not there');
    }
    expect(lifecycle.phase).toMatchObject({ kind: 'waiting', after: { failures: 1 } });
    await lifecycle.close();
  },
);
