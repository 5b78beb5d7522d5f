import { expect, test } from 'vitest';
import { Directory, type LiveRun } from '../../../src/actors/runs/directory.ts';
import type { Address } from '../../../src/supervisor/protocol.ts';

const on = (runId: string, host: Address): LiveRun => ({
  runId,
  sessionId: 's',
  userId: 'u',
  origin: 'stream',
  where: { at: 'host', host },
});
const here = (actor: number): Address => ({ thread: actor, actor, path: `chat/run-hosts/run-${actor}` });

test('a host whose thread is being left takes no more runs; its successor does', () => {
  const directory = new Directory();
  directory.addHost('run-1', here(1));
  directory.addHost('run-2', here(2));
  directory.put(on('a', here(2)));
  directory.retireHost(here(1));
  expect(directory.freestHost()?.name).toBe('run-2');
  directory.retireHost(here(2));
  expect(directory.freestHost()).toBeUndefined();
  directory.addHost('run-1', here(3));
  expect(directory.freestHost()?.address).toEqual(here(3));
});

test('the runs of a host that is being left are still found, and are lost with it', () => {
  const directory = new Directory();
  directory.addHost('run-1', here(1));
  directory.put(on('a', here(1)));
  directory.retireHost(here(1));
  expect(directory.find('a')).toBeDefined();
  expect(directory.loseHost(here(1)).map(({ runId }) => runId)).toEqual(['a']);
});
