// The directory's bookkeeping, steering and sessions: pure, or as good as.

import { describe, expect, test } from 'vitest';
import { Directory, type LiveRun } from '../../../src/actors/runs/directory.ts';
import { STEERS_PENDING_MAX, STEERS_PER_TURN_MAX, type Steer } from '../../../src/actors/runs/protocol.ts';
import { EphemeralSessions } from '../../../src/actors/runs/sessions.ts';
import { Steering } from '../../../src/actors/runs/steering.ts';
import type { Address } from '../../../src/supervisor/protocol.ts';

describe('the directory', () => {
  const address = (actor: number): Address => ({ thread: actor, actor, path: `run-${actor}` });
  const run = (runId: string, host: number): LiveRun => ({
    runId,
    sessionId: runId,
    userId: 'ada',
    origin: 'stream',
    where: { at: 'host', host: address(host) },
  });

  test('places a run where the fewest are', () => {
    const directory = new Directory();
    expect(directory.freestHost()).toBe(undefined);
    directory.addHost('one', address(1));
    directory.addHost('two', address(2));
    directory.put(run('a', 1));
    expect(directory.freestHost()?.name).toBe('two');
    directory.put(run('b', 2));
    directory.put(run('c', 2));
    expect(directory.freestHost()?.name).toBe('one');
    directory.remove('b');
    directory.remove('c');
    expect(directory.freestHost()?.name).toBe('two');
  });

  test('names the runs that a lost host took with it, and forgets the host', () => {
    const directory = new Directory();
    directory.addHost('one', address(1));
    directory.addHost('two', address(2));
    for (const live of [run('a', 1), run('b', 2), run('c', 1)]) directory.put(live);
    expect(directory.loseHost(address(1)).map(({ runId }) => runId)).toEqual(['a', 'c']);
    expect([directory.hasHost(address(1)), directory.hasHost(address(2))]).toEqual([false, true]);
    expect(directory.freestHost()?.name).toBe('two');
    expect(directory.find('a')).toBeDefined();
    directory.remove('a');
  });

  test('lets a host that announces itself again keep its runs', () => {
    const directory = new Directory();
    expect(directory.addHost('one', address(1))).toBe(true);
    directory.put(run('a', 1));
    expect(directory.addHost('one', address(1))).toBe(false);
    expect(directory.loseHost(address(1)).map(({ runId }) => runId)).toEqual(['a']);
  });

  test('lets a run be settled by one only', () => {
    const directory = new Directory();
    directory.put(run('a', 1));
    expect(directory.beginSettling('a')?.runId).toBe('a');
    expect(directory.beginSettling('a')).toBe(undefined);
    expect(directory.beginSettling('b')).toBe(undefined);
  });
});

describe('steering', () => {
  const steer = (id: string): Steer => ({ id, message: `steer ${id}`, atMs: 0 });

  test('hands out what has gathered, once, in order', () => {
    const steering = new Steering();
    steering.accept(steer('1'));
    steering.accept(steer('2'));
    expect(steering.take().map(({ id }) => id)).toEqual(['1', '2']);
    expect(steering.take()).toEqual([]);
  });

  test('refuses more than ten that wait, until they are folded in', () => {
    const steering = new Steering();
    for (let i = 0; i < STEERS_PENDING_MAX; i += 1) steering.accept(steer(String(i)));
    expect(() => steering.accept(steer('more'))).toThrow(expect.objectContaining({ code: 'steers_full' }));
    expect(steering.take()).toHaveLength(STEERS_PENDING_MAX);
    steering.accept(steer('more'));
  });

  test('refuses more than a turn can keep', () => {
    const steering = new Steering();
    for (let i = 0; i < STEERS_PER_TURN_MAX; i += 1) {
      steering.accept(steer(String(i)));
      steering.take();
    }
    expect(() => steering.accept(steer('more'))).toThrow(expect.objectContaining({ code: 'steers_full' }));
  });

  test('takes none once the turn has closed it, and keeps those that it took', () => {
    const steering = new Steering();
    steering.accept(steer('1'));
    steering.close();
    expect(() => steering.accept(steer('2'))).toThrow(expect.objectContaining({ code: 'run_not_active' }));
    expect(steering.take()).toHaveLength(1);
  });
});

describe('sessions that are not stored', () => {
  const said = (content: string) =>
    [
      { role: 'user', content },
      { role: 'assistant', content: `${content}!` },
    ] as const;
  const contents = (sessions: EphemeralSessions, id: string, nowMs = 0): string[] =>
    sessions.turns(id, nowMs).map(({ content }) => content);

  test('remember their turns in order, each its own', () => {
    const sessions = new EphemeralSessions();
    sessions.add('a', said('one'), 0);
    sessions.add('b', said('other'), 0);
    sessions.add('a', said('two'), 0);
    expect(contents(sessions, 'a')).toEqual(['one', 'one!', 'two', 'two!']);
    expect(contents(sessions, 'c')).toEqual([]);
  });

  test('are forgotten after an hour of silence', () => {
    const sessions = new EphemeralSessions();
    sessions.add('a', said('one'), 0);
    expect(contents(sessions, 'a', 3_600_000)).toHaveLength(2);
    expect(contents(sessions, 'a', 3_600_001)).toEqual([]);
    sessions.add('a', said('two'), 3_600_001);
    expect(contents(sessions, 'a', 3_600_001)).toEqual(['two', 'two!']);
  });

  test('keep the newest turns within their bound', () => {
    const sessions = new EphemeralSessions();
    for (const letter of 'abc') sessions.add('a', said(letter.repeat(60_000)), 0);
    expect(contents(sessions, 'a').map((content) => content.charAt(0))).toEqual(['b', 'c', 'c']);
  });

  test('are at most a thousand: the one that was used longest ago goes', () => {
    const sessions = new EphemeralSessions();
    for (let i = 0; i < 1_000; i += 1) sessions.add(String(i), said('x'), 0);
    sessions.add('0', said('y'), 0);
    sessions.add('new', said('z'), 0);
    expect(contents(sessions, '0')).toHaveLength(4);
    expect(contents(sessions, '1')).toEqual([]);
  });
});
