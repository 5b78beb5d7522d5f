// Routes of the aggregator, under the id of its provider and under its general name.

import { aggregator } from '../../actors/aggregator/protocol.ts';
import type { ReplyFrom } from '../../supervisor/protocol.ts';
import { resultPage } from '../result-page.ts';
import { bind, bindPage } from '../route.ts';

/** It waits for the aggregator, which has a patience of its own: longer than an ordinary ask. */
const UPSTREAM = { deadlineMs: 20_000 };

type Outcome = ReplyFrom<typeof aggregator, 'settleLink'>['outcome'];

const PAGES: Readonly<Record<Outcome, ReturnType<typeof resultPage>>> = {
  linked: resultPage({
    status: 200,
    title: 'Account linked',
    text: 'The account is linked. You can close this page.',
  }),
  refused: resultPage({
    status: 400,
    title: 'Account not linked',
    text: 'Access was not granted, and nothing was changed. You can close this page.',
  }),
  failed: resultPage({
    status: 502,
    title: 'Account not linked',
    text: 'The key could not be fetched or kept. Please start again from the settings.',
  }),
  incomplete: resultPage({
    status: 400,
    title: 'Something is missing',
    text: 'This address was called without a code. Please start again from the settings.',
  }),
  replayed: resultPage({
    status: 409,
    title: 'Already used',
    text: 'This page can be used once, and has been. What came of it is in the settings.',
  }),
  expired: resultPage({
    status: 410,
    title: 'Link expired',
    text: 'This link is no longer valid. Please start again from the settings.',
  }),
};

export const aggregatorRoutes = ['openrouter', 'aggregator'].flatMap((name) => {
  const base = `/api/providers/${name}`;
  return [
    bind('POST', `${base}/oauth/start`, aggregator, 'startLink'),
    bindPage('GET', `${base}/oauth/callback/{nonce}`, aggregator, 'settleLink', {
      ...UPSTREAM,
      page: ({ outcome }) => PAGES[outcome],
    }),
    bind('GET', `${base}/oauth/status`, aggregator, 'linkStatus'),
    bind('POST', `${base}/oauth/cancel`, aggregator, 'cancelLink'),
    bind('POST', `${base}/unlink`, aggregator, 'unlink'),
    bind('GET', `${base}/account`, aggregator, 'account', UPSTREAM),
    bind('GET', `${base}/alias-migration`, aggregator, 'scanAliases', UPSTREAM),
    bind('POST', `${base}/alias-migration`, aggregator, 'migrateAliases', UPSTREAM),
    bind('GET', `${base}/models/{author}/{slug}/endpoints`, aggregator, 'endpoints', UPSTREAM),
    bind('GET', `${base}/generation/{id}`, aggregator, 'generation', UPSTREAM),
  ];
});
