import { describe, expect, test } from 'vitest';
import type { JournaledEvent } from '../../../src/actors/runs/events.ts';
import { JournalWriter } from '../../../src/actors/runs/journal-writer.ts';
import { RunJournal } from '../../../src/actors/runs/run-journal.ts';
import type { JournalAppend } from '../../../src/storage/contract.ts';
import { storageFaults } from '../../../src/storage/faults.ts';

type Commit = readonly JournalAppend<JournaledEvent>[];

/** A writer whose commits end as the test says: `refuse` tells what one throws. */
function watchedWriter(
  refuse: (commit: Commit, attempt: number) => unknown = () => undefined,
  patience?: (save: () => Promise<void>) => Promise<void>,
) {
  const commits: string[][] = [];
  const failures: string[] = [];
  let attempt = 0;
  const appendAll = async (commit: Commit): Promise<void> => {
    attempt += 1;
    const error = refuse(commit, attempt);
    if (error !== undefined) throw error;
    commits.push(commit.map(({ journal, firstSeq, values }) => `${journal}:${firstSeq}+${values.length}`));
  };
  const writer = new JournalWriter({ appendAll }, patience);
  return {
    commits,
    failures,
    journal(run: string, signal?: AbortSignal) {
      const onFailed = (error: unknown): void => void failures.push(`${run}: ${String(error)}`);
      return new RunJournal({ run, writer, publish: () => undefined, onFailed, ...(signal && { signal }) });
    },
  };
}

describe('the writer of a thread', () => {
  test('commits what several runs say at once together, each with its own numbers', async () => {
    const { journal, commits } = watchedWriter();
    const [a, b] = [journal('a'), journal('b')];
    a.say('chunk', { content: '1' });
    b.say('chunk', { content: '1' });
    a.say('chunk', { content: '2' });
    await Promise.all([a.flushed(), b.flushed()]);
    b.say('chunk', { content: '2' });
    await b.flushed();
    expect(commits).toEqual([['a:1+2', 'b:1+1'], ['b:2+1']]);
  });

  test('spreads what is too much for one commit, and lets nobody wait twice', async () => {
    const { journal, commits } = watchedWriter();
    const runs = ['a', 'b', 'c', 'd', 'e', 'f'].map((run) => journal(run));
    for (const run of runs) run.say('chunk', { content: 'x'.repeat(900_000) });
    await Promise.all(runs.map((run) => run.flushed()));
    expect(commits).toEqual([
      ['a:1+1', 'b:1+1', 'c:1+1', 'd:1+1'],
      ['e:1+1', 'f:1+1'],
    ]);
  });

  test('lets no run pay for the bug of another', async () => {
    const { journal, commits, failures } = watchedWriter((commit) =>
      commit.some((append) => append.journal === 'b') ? new Error('b is impossible') : undefined,
    );
    const runs = ['a', 'b', 'c'].map((run) => journal(run));
    for (const run of runs) run.say('chunk', { content: '1' });
    await Promise.all(runs.map((run) => run.flushed()));
    expect(commits).toEqual([['a:1+1'], ['c:1+1']]);
    expect(failures).toEqual(['b: Error: b is impossible']);
  });

  test('tries again what is refused for now, but not for a run that is ending', async () => {
    const ending = new AbortController();
    const patience = async (save: () => Promise<void>): Promise<void> => {
      await save().catch(() => save());
    };
    const { journal, commits, failures } = watchedWriter(
      (_commit, attempt) => (attempt === 1 ? new Error('the disk is full') : undefined),
      patience,
    );
    const [staying, leaving] = [journal('staying'), journal('leaving', ending.signal)];
    staying.say('chunk', { content: '1' });
    leaving.say('chunk', { content: '1' });
    ending.abort();
    await Promise.all([staying.flushed(), leaving.flushed()]);
    expect(commits).toEqual([['staying:1+1']]);
    expect(failures).toEqual(['leaving: Error: the disk is full']);
  });

  test('ends all runs of a commit whose time is up, and lets none of them wait as long again', async () => {
    let waits = 0;
    const patience = async (save: () => Promise<void>): Promise<void> => {
      waits += 1;
      await save();
    };
    const full = storageFaults.storage_full('the disk is full');
    const { journal, failures } = watchedWriter(() => full, patience);
    const runs = ['a', 'b', 'c'].map((run) => journal(run));
    for (const run of runs) run.say('chunk', { content: '1' });
    await Promise.all(runs.map((run) => run.flushed()));
    expect(failures).toEqual(['a', 'b', 'c'].map((run) => `${run}: ${String(full)}`));
    expect(waits).toBe(1);
  });
});
