// Roles: models by what they are for. A setting that is a member of a role and has no value of its own follows it.

export const ROLE_NAMES = ['fast_utility', 'deep_reasoning', 'summarizer'] as const;

export type RoleName = (typeof ROLE_NAMES)[number];

export const ROLES: Readonly<Record<RoleName, { readonly label: string; readonly description: string }>> = {
  fast_utility: { label: 'Fast Utility', description: 'Quick classification and extraction.' },
  deep_reasoning: { label: 'Deep Reasoning', description: 'Consolidation and distillation of quality.' },
  summarizer: { label: 'Summarizer', description: 'Cheap compression and recaps.' },
};
