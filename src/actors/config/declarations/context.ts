// Settings of the conversation context: what a model sees of a conversation, and how it is condensed.

import { flag, integer, kept, number, onPage, operatorOnly, promptText, taskModel } from '../setting.ts';

const RATIO = { minimum: 0.5, maximum: 0.98, step: 0.01 };
const SHARE = { minimum: 0, maximum: 1, step: 0.1 };
const SUMMARY_CHARS = { minimum: 500, maximum: 10_000 };
const SUMMARY_TOKENS = { minimum: 100, maximum: 16_000 };

const conversation = onPage('context', {
  'preferences.enable_memory_by_default': flag(true, 'Whether a turn that does not say uses memory.', {
    tier: 'essential',
  }),
  'context.conversation_state_enabled': flag(
    true,
    'Lets the model keep structured notes about a conversation.',
    { tier: 'essential' },
  ),
  'context.rehydrate_max_turns': integer(
    400,
    { minimum: 20, maximum: 2000 },
    'How many stored rows of a conversation a turn starts from.',
    { unit: 'rows' },
  ),
  ...kept({
    'context.conversation_state_compaction_enabled': flag(
      true,
      'Folds older turns into the notes about the conversation.',
    ),
    'context.verbatim_budget_ratio': number(0.9, RATIO, 'Share of the window that a prompt may fill.'),
    'context.summary_trigger_ratio': number(
      0.85,
      RATIO,
      'Share of the history budget from which older turns are condensed.',
      { why: 'Condensing early leaves room; condensing late keeps more of the wording.' },
    ),
    'context.preassembly_summary_enabled': flag(
      true,
      'Condenses a history that does not fit before the turn, instead of cutting it.',
    ),
    'context.recent_floor': integer(
      4,
      { minimum: 1, maximum: 50 },
      'How many of the newest rows are always kept word by word.',
      { unit: 'rows' },
    ),
    'context.max_input_tokens': integer(
      0,
      { minimum: 0, maximum: 1_000_000 },
      'Most tokens of input a turn may use, whatever the model takes; 0 is no limit.',
      { unit: 'tokens', why: 'A large window that is filled costs accordingly.' },
    ),
    'memory.episodic_leads_enabled': flag(
      true,
      'Points the model to earlier conversations it may look into.',
    ),
    'memory.project_channels': flag(true, 'Gives every project a memory of its own.'),
    'session.rolling_summary.enabled': flag(true, 'Keeps a running summary of a conversation.'),
    'session.rolling_summary.model': taskModel('', 'Model of the running summary.', {
      membership: { role: 'summarizer', member: 'rolling_summary', label: 'Rolling summary & recap' },
    }),
    'session.rolling_summary.max_tokens': integer(
      800,
      { minimum: 200, maximum: 4000 },
      'Longest running summary.',
      { unit: 'tokens' },
    ),
  }),
});

const compression = onPage(
  'context',
  kept({
    'compression.enabled': flag(true, 'Summarises long tool results before the model reads them.'),
    'compression.model': taskModel('', 'Model that summarises tool results.', {
      membership: { role: 'summarizer', member: 'compression', label: 'Tool-output compression' },
    }),
    ...operatorOnly({
      'compression.temperature': number(0.2, SHARE, 'Temperature of the summary of a tool result.'),
      'compression.max_tokens': integer(
        1000,
        SUMMARY_TOKENS,
        'Output limit of the summary of a tool result.',
        {
          unit: 'tokens',
        },
      ),
    }),
    'compression.max_summary_chars': integer(2000, SUMMARY_CHARS, 'Longest summary of a tool result.', {
      unit: 'characters',
    }),
    'trajectory_compression.enabled': flag(true, 'Condenses earlier tool rounds of a turn that grows long.'),
    'trajectory_compression.threshold_ratio': number(
      0.75,
      { minimum: 0.5, maximum: 0.95, step: 0.05 },
      'Share of the window from which earlier tool rounds are condensed.',
    ),
    'trajectory_compression.preserve_recent_rounds': integer(
      2,
      { minimum: 1, maximum: 5 },
      'How many of the newest tool rounds stay as they are.',
      { unit: 'rounds' },
    ),
    'trajectory_compression.model': taskModel('', 'Model that condenses tool rounds.', {
      membership: {
        role: 'summarizer',
        member: 'trajectory_compression',
        label: 'Trajectory compression',
      },
    }),
    ...operatorOnly({
      'trajectory_compression.temperature': number(
        0.2,
        SHARE,
        'Temperature of the call that condenses tool rounds.',
      ),
      'trajectory_compression.max_tokens': integer(
        1500,
        SUMMARY_TOKENS,
        'Output limit of the call that condenses tool rounds.',
        {
          unit: 'tokens',
        },
      ),
    }),
    'trajectory_compression.max_knowledge_chars': integer(
      3000,
      SUMMARY_CHARS,
      'Longest text that stands for the condensed tool rounds.',
      { unit: 'characters' },
    ),
  }),
);

const enhancement = onPage(
  'prompts',
  kept({
    'prompt_enhancement.enabled': flag(true, 'Offers to rewrite a request before it is sent.', {
      tier: 'essential',
    }),
    'prompt_enhancement.model': taskModel('', 'Model that rewrites requests.', {
      membership: { role: 'summarizer', member: 'prompt_enhancement', label: 'Prompt enhancement' },
    }),
    'prompt_enhancement.temperature': number(0.7, SHARE, 'Temperature of the call that rewrites requests.'),
    'prompt_enhancement.max_tokens': integer(
      1000,
      { minimum: 100, maximum: 4000 },
      'Output limit of the call that rewrites requests.',
      { unit: 'tokens' },
    ),
  }),
);

const enhancementPrompt = onPage(
  'feature-prompts',
  kept({
    'prompt_enhancement.system_prompt': promptText('', 'What the model that rewrites requests is told.'),
  }),
);

export const contextSettings = { ...conversation, ...compression, ...enhancement, ...enhancementPrompt };
