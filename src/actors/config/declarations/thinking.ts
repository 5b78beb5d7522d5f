// Settings of planning and thinking: what happens in a turn before the answer.

import {
  choice,
  flag,
  integer,
  kept,
  number,
  onPage,
  optionalTaskModel,
  promptText,
  taskModel,
} from '../setting.ts';

/** What the model that makes a plan is told, unless the user says it better. */
export const PLAN_PROMPT = `Split the task into steps for agents that work one after another.

Answer with JSON only: {"subtasks": [{"description": "…", "dependencies": [0], "tools_needed": true}]}

- As few steps as the task needs; a single step if splitting does not help.
- A step says what to do and what its result is, so that it is understood without this conversation.
- "dependencies" are the positions, from 0, of the earlier steps whose results it needs.
- "tools_needed" is true only for a step that has to look something up or change something.`;

const planner = onPage(
  'planner',
  kept({
    'planner.enabled': flag(true, 'Makes a plan for a task that is complex enough.', { tier: 'essential' }),
    'planner.model': optionalTaskModel('Model that makes the plan.', {
      emptyMeans: 'the model of the turn is used',
    }),
    'planner.temperature': number(
      0.3,
      { minimum: 0, maximum: 1, step: 0.1 },
      'Temperature of the call that makes the plan.',
    ),
    'planner.max_tokens': integer(
      1000,
      { minimum: 100, maximum: 4000 },
      'Output limit of the call that makes the plan.',
      { unit: 'tokens' },
    ),
    'planner.complexity_threshold': choice(
      'complex',
      ['simple', 'moderate', 'complex'],
      'How complex a task has to be for a plan.',
    ),
    'planner.max_subtasks': integer(6, { minimum: 1, maximum: 100 }, 'Most steps of a plan.', {
      unit: 'steps',
    }),
  }),
);

const plannerPrompt = onPage(
  'feature-prompts',
  kept({
    'planner.prompt_override': promptText('', 'What the model that makes the plan is told.'),
  }),
);

const thinking = onPage(
  'thinking',
  kept({
    'preferences.default_reasoning_strategy': choice(
      'auto',
      [
        'auto',
        'native',
        'cot',
        'step_back',
        'tot',
        'react',
        'reflection',
        'deep_reflection',
        'self_consistency',
      ],
      'Pattern of a turn that names none.',
      { tier: 'essential' },
    ),
    'reasoning.chat_patterns_enabled': flag(true, 'Lets a chat use thinking patterns at all.', {
      tier: 'essential',
    }),
    'reasoning.auto_classifier_enabled': flag(
      true,
      'Asks a small model which pattern fits where the wording does not tell.',
    ),
    'reasoning.classifier_model': taskModel('', 'Model that chooses a pattern.', {
      membership: {
        role: 'fast_utility',
        member: 'thinking_classifier',
        label: 'Thinking-pattern classifier',
      },
    }),
    'reasoning.classifier_min_chars': integer(
      240,
      { minimum: 0, maximum: 5000 },
      'Shortest message about which the model that chooses a pattern is asked.',
      { unit: 'characters' },
    ),
    'reasoning.step_back_model': taskModel(
      '',
      'Model that states the principles, where a turn steps back first.',
    ),
    'reasoning.step_back_timeout_seconds': integer(
      20,
      { minimum: 1, maximum: 3600 },
      'Longest time for stating the principles.',
      { unit: 'seconds' },
    ),
    'reasoning.cot_enabled': flag(true, 'Allows chain of thought.'),
    'reasoning.step_back_enabled': flag(true, 'Allows stepping back to principles first.'),
    'reasoning.reflection_enabled': flag(true, 'Allows reflection on a draft.'),
    'reasoning.self_consistency_enabled': flag(true, 'Allows several attempts and a choice among them.'),
    'reasoning.sc_model': taskModel('', 'Model of the attempts, where a turn makes several.'),
    'reasoning.sc_k': integer(
      3,
      { minimum: 2, maximum: 5 },
      'How many attempts are made, where a turn makes several.',
      {
        unit: 'attempts',
        why: 'Each attempt costs as much as an answer.',
      },
    ),
    'reasoning.min_output_tokens': integer(
      0,
      { minimum: 0, maximum: 65_536 },
      'Least output limit of a turn that thinks; 0 chooses by itself.',
      { unit: 'tokens' },
    ),
  }),
);

export const thinkingSettings = { ...planner, ...plannerPrompt, ...thinking };
