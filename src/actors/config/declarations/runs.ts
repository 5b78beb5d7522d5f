// Settings of runs and jobs: how much goes on at once, and what becomes of what was interrupted.

import { choice, flag, integer } from '../setting.ts';

export const runSettings = {
  'runs.live_max': integer(
    10_000,
    { minimum: 1, maximum: 20_000 },
    'How many turns may be under way at once; more of them wait.',
    { unit: 'turns' },
  ),
  'runs.queue_max': integer(
    10_000,
    { minimum: 0, maximum: 100_000 },
    'How many turns may wait; who comes then is asked to come again.',
    { unit: 'turns' },
  ),
  'runs.on_busy': choice(
    'queue',
    ['queue', 'reject', 'steer'],
    'What becomes of a message whose conversation has a turn under way: it waits, is refused, or is folded into that turn.',
  ),
  'runs.resume_on_boot': flag(
    true,
    'Whether a turn that was lost, or left by a stop, between its steps goes on by itself; else it ends with that reason.',
  ),
  'jobs.live_max': integer(4, { minimum: 1, maximum: 64 }, 'Background jobs that run at once.', {
    unit: 'jobs',
  }),
};
