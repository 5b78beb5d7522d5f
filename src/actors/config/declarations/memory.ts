// Settings of memory that name a model. They are another store to clients: keys without a section, shown in the manifest
// and set by memory's own routes, not by the common update.
// Y1 `inherit` is this store's word for an empty text: the stage follows its role.

import type { RoleName } from '../roles.ts';
import { flag, kept, onPage, setThrough, taskModel } from '../setting.ts';

/** Y1. */
export const INHERIT = 'inherit';

const stage = (role: RoleName, member: string, label: string, summary: string) =>
  taskModel(INHERIT, summary, {
    membership: { role, member, label },
    why: `The text ${INHERIT} says the same as an empty one.`,
  });

const consolidation = {
  extraction_model: stage('fast_utility', 'extraction', 'Extraction', 'Model that finds facts in a turn.'),
  relevance_filter_model: stage(
    'fast_utility',
    'relevance_filter',
    'Relevance filter',
    'Model that tells whether a turn is worth remembering.',
  ),
  contradiction_model: stage(
    'fast_utility',
    'contradiction',
    'Contradiction check',
    'Model that tells whether two facts contradict each other.',
  ),
  correction_model: stage(
    'fast_utility',
    'correction',
    'Correction detection',
    'Model that notices when a user corrects a fact.',
  ),
  entity_linking_model: stage(
    'fast_utility',
    'entity_linking',
    'Entity linking',
    'Model that tells entities of the same name apart.',
  ),
  combined_extraction_model: stage(
    'deep_reasoning',
    'combined_extraction',
    'Combined extraction',
    'Model that finds facts, entities and relationships together.',
  ),
  procedural_distill_model: stage(
    'deep_reasoning',
    'procedural_distill',
    'Procedural distillation',
    'Model that makes procedures of what worked.',
  ),
};

/** What "adopt the roles" resets. */
export const STAGE_MODEL_KEYS = Object.keys(consolidation) as readonly (keyof typeof consolidation)[];

const MEMORY_ROUTE = '/api/memory/settings';
const RECALL_ROUTE = '/api/memory/recall-settings';

export const memorySettings = kept({
  ...setThrough(MEMORY_ROUTE, {
    ...onPage('memory-overview', {
      feature_default_model: taskModel('', 'Model of the stages of memory whose role has none.', {
        emptyMeans: 'the default model is used',
      }),
      workspace_agent_write_tools: flag(
        true,
        'Whether agents are offered the tools that write, rename and delete the documents of a project.',
      ),
      workspace_summary_model: stage(
        'summarizer',
        'workspace_summary',
        'Document summaries',
        'Model that summarises documents.',
      ),
    }),
    ...onPage('memory-consolidation', consolidation),
  }),
  ...setThrough(
    RECALL_ROUTE,
    onPage('memory-recall', {
      recall_hyde_model: stage(
        'fast_utility',
        'recall_hyde',
        'Recall — HyDE',
        'Model that imagines the answer which recall then looks for.',
      ),
      recall_self_query_model: stage(
        'fast_utility',
        'recall_self_query',
        'Recall — self-query',
        'Model that makes filters of a question.',
      ),
    }),
  ),
});
