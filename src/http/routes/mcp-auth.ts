// Routes of signing in to MCP servers: where browsers come back to. It is public: the state in its query is what counts.

import { mcpAuth } from '../../actors/mcp-auth/protocol.ts';
import type { ReplyFrom } from '../../supervisor/protocol.ts';
import { resultPage } from '../result-page.ts';
import { bindPage } from '../route.ts';

/** The code is exchanged meanwhile, at somebody else's pace. */
const EXCHANGE = { deadlineMs: 30_000 };

type Outcome = ReplyFrom<typeof mcpAuth, 'settleSignIn'>['outcome'];

const PAGES: Readonly<Record<Outcome, ReturnType<typeof resultPage>>> = {
  signed_in: resultPage({
    status: 200,
    title: 'Signed in',
    text: 'The server is being connected. You can close this page.',
  }),
  refused: resultPage({
    status: 400,
    title: 'Not signed in',
    text: 'Access was not granted, and nothing was changed. You can close this page.',
  }),
  failed: resultPage({
    status: 400,
    title: 'Not signed in',
    text: 'The sign-in could not be finished. What went wrong stands beside the server; please connect it again.',
  }),
  incomplete: resultPage({
    status: 400,
    title: 'Something is missing',
    text: 'This address was called without a code or a state. Please connect the server again.',
  }),
  unknown: resultPage({
    status: 400,
    title: 'Sign-in expired',
    text: 'This sign-in is over: it was finished, cancelled or begun anew. Please connect the server again.',
  }),
};

export const mcpAuthRoutes = [
  bindPage('GET', '/api/mcp/oauth/callback', mcpAuth, 'settleSignIn', {
    ...EXCHANGE,
    page: ({ outcome }) => PAGES[outcome],
  }),
];
