// Settings of web search and research.

import { choice, flag, integer, kept, number, onPage, operatorOnly, optionalSecret } from '../setting.ts';

const YEAR_SECONDS = 31_536_000;
const DOLLARS_PER_CALL = { minimum: 0, maximum: 100 };

const search = onPage(
  'search',
  kept({
    'search.backend': choice('tavily', ['tavily', 'brave'], 'Service that searches the web.', {
      tier: 'essential',
    }),
    'search.tavily_api_key': optionalSecret('Key of Tavily.', {
      environment: 'TAVILY_API_KEY',
      tier: 'essential',
      emptyMeans: 'Tavily is not used',
    }),
    'search.brave_api_key': optionalSecret('Key of Brave Search.', {
      environment: 'BRAVE_API_KEY',
      tier: 'essential',
      emptyMeans: 'Brave Search is not used',
    }),
    'search.fallback_enabled': flag(true, 'Asks the other search service when the first one fails.'),
    'search.max_results': integer(5, { minimum: 1, maximum: 10 }, 'How many results a search gives.', {
      tier: 'essential',
      unit: 'results',
    }),
    'search.cache_ttl_seconds': integer(
      300,
      { minimum: 0, maximum: YEAR_SECONDS },
      'How long the results of a search are good for.',
      { unit: 'seconds' },
    ),
    ...operatorOnly({
      'search.timeout': integer(15, { minimum: 1, maximum: 600 }, 'Longest time for one search.', {
        unit: 'seconds',
      }),
      'search.per_turn_limit': integer(
        8,
        { minimum: 0, maximum: 1_000_000 },
        'How many units of search a turn may use; 0 is no limit.',
        { unit: 'searches' },
      ),
      'search.cost_per_credit_usd': number(0.008, DOLLARS_PER_CALL, 'What a credit of Tavily costs.', {
        unit: 'USD',
      }),
      'search.brave_cost_per_request_usd': number(
        0.005,
        DOLLARS_PER_CALL,
        'What a request to Brave Search costs.',
        { unit: 'USD' },
      ),
    }),
  }),
);

const research = onPage(
  'research',
  kept({
    'research.enabled': flag(true, 'Offers turns that research and write a report.', { tier: 'essential' }),
    'research.max_tool_rounds': integer(
      40,
      { minimum: 10, maximum: 80 },
      'How often a research turn may call tools.',
      { unit: 'rounds' },
    ),
    'research.default_depth': choice('auto', ['auto', 'mini', 'pro'], 'How deep web research goes.'),
    'research.min_max_tokens': integer(
      16_384,
      { minimum: 1, maximum: 2_000_000 },
      'Least output limit of a research turn.',
      { unit: 'tokens' },
    ),
    'search.research_per_turn_limit': integer(
      40,
      { minimum: 0, maximum: 200 },
      'How many units of search a research turn may use; 0 is no limit.',
      { unit: 'searches' },
    ),
    'web_research.enabled': flag(true, 'Offers the deep research of the search service.', {
      tier: 'experimental',
    }),
    'web_research.cache_ttl_seconds': integer(
      1800,
      { minimum: 0, maximum: YEAR_SECONDS },
      'How long the result of deep research is good for.',
      { unit: 'seconds' },
    ),
    'web_research.poll_timeout_seconds': integer(
      240,
      { minimum: 1, maximum: 3600 },
      'Longest time for deep research.',
      { unit: 'seconds' },
    ),
    'web_research.poll_interval_seconds': integer(
      5,
      { minimum: 1, maximum: 600 },
      'How often the progress of deep research is asked for.',
      { unit: 'seconds' },
    ),
    'web_research.budget_weight': integer(
      3,
      { minimum: 1, maximum: 100 },
      'How many units of search deep research counts as.',
      { unit: 'searches' },
    ),
  }),
);

export const searchSettings = { ...search, ...research };
