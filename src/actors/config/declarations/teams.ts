// Settings of agents that work together, and of the Ambassador.

import { Type } from '../../../std/schema.ts';
import {
  flag,
  integer,
  kept,
  map,
  number,
  onPage,
  operatorOnly,
  optionalTaskModel,
  optionalText,
  taskModel,
} from '../setting.ts';

const EFFORT_TIERS_MAX = 20;

const alloy = onPage(
  'alloy',
  kept({
    'alloy.max_delegation_depth': integer(3, { minimum: 1, maximum: 5 }, 'How deep delegations may nest.'),
    'alloy.max_parallel_delegations': integer(
      3,
      { minimum: 1, maximum: 8 },
      'How many delegations of a turn run at once.',
    ),
    'alloy.delegation_timeout_seconds': integer(
      300,
      { minimum: 30, maximum: 3600 },
      'Longest time for one delegation.',
      { unit: 'seconds' },
    ),
    'alloy.allow_adhoc_delegation': flag(true, 'Lets an agent delegate outside of a team.', {
      tier: 'essential',
    }),
    'alloy.non_blocking_delegations': flag(true, 'Lets an agent go on while a delegation runs.', {
      tier: 'experimental',
    }),
    'alloy.chain_of_command': flag(true, 'Keeps the members of a managed team to its chain of command.', {
      tier: 'experimental',
    }),
    ...operatorOnly({
      'alloy.effort_tiers': map(
        Type.Integer({ minimum: 1, maximum: 1000 }),
        { quick: 8, standard: 30, deep: 60, marathon: 100 },
        'Tool rounds of a delegation, by effort.',
        { entriesMax: EFFORT_TIERS_MAX, expected: 'a map of effort to tool rounds from 1 to 1000' },
      ),
    }),
  }),
);

const ambassador = onPage(
  'ambassador',
  kept({
    'ambassador.enabled': flag(true, 'Offers the Ambassador.', { tier: 'essential' }),
    'ambassador.profile_id': optionalText('Agent profile of the Ambassador.', {
      tier: 'essential',
      emptyMeans: 'the shipped profile is used',
    }),
    'ambassador.model': optionalTaskModel('Model of the Ambassador.', {
      emptyMeans: 'the model of its profile is used',
    }),
    'ambassador.max_context_turns': integer(
      8,
      { minimum: 1, maximum: 40 },
      'How many turns of a conversation the Ambassador reads.',
      { unit: 'turns' },
    ),
    'ambassador.max_tokens': integer(
      600,
      { minimum: 1, maximum: 200_000 },
      'Longest answer of the Ambassador.',
      {
        unit: 'tokens',
      },
    ),
    ...operatorOnly({
      'ambassador.speech_model': optionalTaskModel("Model of the Ambassador's voice."),
      'ambassador.voice': optionalText('Voice that the Ambassador speaks with.'),
    }),
    'ambassador.aide.enabled': flag(
      true,
      'Lets small helpers of the Ambassador, its aides, read conversations for a survey.',
    ),
    'ambassador.aide.model': taskModel('', "Model of the Ambassador's aides.", {
      membership: { role: 'fast_utility', member: 'aide', label: 'Ambassador aide digests' },
    }),
    'ambassador.aide.temperature': number(
      0.2,
      { minimum: 0, maximum: 2, step: 0.1 },
      'Temperature of an aide.',
    ),
    'ambassador.aide.max_tokens': integer(220, { minimum: 1, maximum: 200_000 }, 'Output limit of an aide.', {
      unit: 'tokens',
    }),
    'ambassador.aide.max_input_chars': integer(
      6000,
      { minimum: 1, maximum: 1_000_000 },
      'How much of a conversation an aide reads.',
      { unit: 'characters' },
    ),
    'ambassador.aide.max_parallel': integer(4, { minimum: 1, maximum: 100 }, 'How many aides work at once.'),
    'ambassador.aide.timeout_seconds': integer(
      20,
      { minimum: 1, maximum: 3600 },
      'Longest time for one aide.',
      { unit: 'seconds' },
    ),
    'ambassador.aide.max_per_survey': integer(
      8,
      { minimum: 1, maximum: 1000 },
      'How many aides one survey may ask.',
    ),
    'ambassador.aide.cache_ttl_seconds': integer(
      1800,
      { minimum: 0, maximum: 31_536_000 },
      'How long what an aide has found is good for.',
      { unit: 'seconds' },
    ),
    'ambassador.dispatch.enabled': flag(true, 'Lets the Ambassador start work of other agents.', {
      tier: 'essential',
    }),
  }),
);

const transcription = onPage(
  'ambassador',
  operatorOnly({
    'ambassador.transcription_model': optionalTaskModel(
      'Model that writes down what is said in a recording.',
      { emptyMeans: 'the shipped model is used' },
    ),
  }),
);

export const teamSettings = { ...alloy, ...ambassador, ...transcription };
