import { describe, expect, test } from 'vitest';
import type { JournaledEvent } from '../../../src/actors/runs/events.ts';
import { JournalWriter } from '../../../src/actors/runs/journal-writer.ts';
import { RunJournal } from '../../../src/actors/runs/run-journal.ts';
import type { JournalAppend, Journals } from '../../../src/storage/contract.ts';

/** A journal whose commits are held until the test lets them through. */
function heldJournal() {
  const commits: { readonly firstSeq: number; readonly events: readonly JournaledEvent[] }[] = [];
  const held: PromiseWithResolvers<void>[] = [];
  const published: number[] = [];
  const failures: unknown[] = [];
  const journals = {
    appendAll(appends: readonly JournalAppend<JournaledEvent>[]) {
      for (const { firstSeq, values } of appends) commits.push({ firstSeq, events: values });
      const commit = Promise.withResolvers<void>();
      held.push(commit);
      return commit.promise;
    },
  } as unknown as Journals<JournaledEvent>;
  const journal = new RunJournal({
    run: 'r',
    writer: new JournalWriter(journals),
    publish: (seq) => published.push(seq),
    onFailed: (error) => failures.push(error),
  });
  const next = async (settle: (commit: PromiseWithResolvers<void>) => void): Promise<void> => {
    await turn();
    const commit = held.shift();
    if (commit === undefined) throw new Error('nothing is being committed');
    settle(commit);
    await turn();
  };
  return {
    journal,
    commits,
    published,
    failures,
    say: (content: string) => journal.say('chunk', { content }),
    commit: () => next(({ resolve }) => resolve()),
    fail: (error: Error) => next(({ reject }) => reject(error)),
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a journal', () => {
  test('publishes what is committed, and gathers what is said meanwhile into one commit', async () => {
    const { journal, commits, published, say, commit } = heldJournal();
    say('1');
    say('2');
    await turn();
    say('3');
    say('4');
    expect(published).toEqual([]);
    await commit();
    expect(published).toEqual([2]);
    await commit();
    expect(published).toEqual([2, 4]);
    expect(commits.map(({ firstSeq, events }) => [firstSeq, events.length])).toEqual([
      [1, 2],
      [3, 2],
    ]);
    await journal.flushed();
  });

  test('is flushed when what was said so far is published, though more is said all the time', async () => {
    const { journal, say, commit } = heldJournal();
    say('1');
    let isFlushed = false;
    const flushed = journal.flushed().then(() => {
      isFlushed = true;
    });
    await turn();
    say('2');
    expect(isFlushed).toBe(false);
    await commit();
    say('3');
    expect(isFlushed).toBe(true);
    await commit();
    await commit();
    await flushed;
  });

  test('has no room while a million characters wait', async () => {
    const { journal, say, commit } = heldJournal();
    say('first');
    await turn();
    say('x'.repeat(1_000_000));
    expect(journal.hasRoom).toBe(false);
    await commit();
    expect(journal.hasRoom).toBe(true);
    await commit();
  });

  test('writes nothing more after a commit that failed, and says so once', async () => {
    const { journal, commits, published, failures, say, commit, fail } = heldJournal();
    say('1');
    await commit();
    say('2');
    await turn();
    say('3');
    await fail(new Error('the disk is full'));
    say('4');
    await turn();
    await journal.flushed();
    expect(published).toEqual([1]);
    expect(commits).toHaveLength(2);
    expect(failures).toEqual([new Error('the disk is full')]);
    expect(journal.hasFailed).toBe(true);
  });
});
