// Settings of runs and jobs: how much goes on at once.

import { integer } from '../setting.ts';

export const runSettings = {
  'jobs.live_max': integer(4, { minimum: 1, maximum: 64 }, 'Background jobs that run at once.', {
    unit: 'jobs',
  }),
};
