// Sections: the pages of the settings, in the order in which a client shows them. A page whose settings live with another
// noun (templates, layers, memory) is listed all the same: the client has a place for it.

interface Section {
  /** The heading under which the page is listed. */
  readonly group: string;
  readonly label: string;
  readonly summary: string;
  readonly what: string;
  readonly why: string;
}

export const SECTIONS = {
  providers: {
    group: 'Infrastructure',
    label: 'Model Providers',
    summary: 'Where models are reached, and with which key.',
    what: 'Keys and addresses of the providers, and the model of a turn that names none.',
    why: 'Without a provider no model answers.',
  },
  models: {
    group: 'Infrastructure',
    label: 'Model Limits',
    summary: 'How much a model takes in and gives out, how it samples, and what it may cost.',
    what: 'Sampling, token limits, fallback and budgets.',
    why: 'A wrong limit cuts answers off or is refused by the provider; a budget stops spending.',
  },
  'model-roles': {
    group: 'Infrastructure',
    label: 'Model Roles',
    summary: 'One model for each kind of task behind the scenes.',
    what: 'The models that stand behind role:fast_utility, role:deep_reasoning and role:summarizer.',
    why: 'Small tasks rarely need the model that answers.',
  },
  search: {
    group: 'Infrastructure',
    label: 'Web Search',
    summary: 'Which service searches the web, and how much of it.',
    what: 'The search service with its key, and how many results it gives.',
    why: 'Searches cost, and more results fill the context.',
  },
  images: {
    group: 'Infrastructure',
    label: 'Images & Audio',
    summary: 'Pictures and sound, in and out.',
    what: 'Switches and models for images, vision and audio.',
    why: 'Media take more tokens and more money than text.',
  },
  planner: {
    group: 'Intelligence',
    label: 'Task Planner',
    summary: 'When a task is split into steps, and into how many.',
    what: 'The complexity from which a plan is made, and the call that makes it.',
    why: 'A plan helps with a large task and delays a small one.',
  },
  thinking: {
    group: 'Intelligence',
    label: 'Thinking Patterns',
    summary: 'How a turn thinks before it answers.',
    what: 'The patterns that may be used, and how one is chosen.',
    why: 'More thought costs time and tokens.',
  },
  alloy: {
    group: 'Intelligence',
    label: 'Agent Teams',
    summary: 'How agents hand work to each other.',
    what: 'Depth, number and time of delegations, and who may delegate to whom.',
    why: 'Each delegation is a model call of its own, with calls of its own.',
  },
  ambassador: {
    group: 'Intelligence',
    label: 'Ambassador',
    summary: 'The companion that reads along and answers on the side.',
    what: 'Its model, its reach and its helpers.',
    why: 'It runs beside every conversation, so its cost adds up.',
  },
  research: {
    group: 'Intelligence',
    label: 'Research Mode',
    summary: 'Turns that search long and write a report.',
    what: 'The rounds, searches and depth of a research turn.',
    why: 'Research is the most expensive kind of turn.',
  },
  'prompt-stack': {
    group: 'Prompts',
    label: 'System Prompt',
    summary: 'The layers of the system prompt.',
    what: 'Has routes of its own: layers are edited one by one.',
    why: 'What every agent is told, whatever its task.',
  },
  prompts: {
    group: 'Prompts',
    label: 'Prompt Enhancement',
    summary: 'Rewriting a request before it is sent.',
    what: 'The model and limits of the rewriting.',
    why: 'A clearer request gets a better answer.',
  },
  'prompt-templates': {
    group: 'Prompts',
    label: 'Template Library',
    summary: 'Prompts to start from.',
    what: 'Has routes of its own: templates are edited one by one.',
    why: 'Saves writing the same request again.',
  },
  'feature-prompts': {
    group: 'Prompts',
    label: 'Feature Prompts',
    summary: 'What the helpers behind the scenes are told.',
    what: 'Texts that replace the shipped instructions of a feature.',
    why: 'Adapts a feature to a language or a house style.',
  },
  'memory-overview': {
    group: 'Memory',
    label: 'Overview',
    summary: 'What is remembered.',
    what: 'Figures and tools of the memory; it has no settings here.',
    why: 'Shows what later turns can recall.',
  },
  context: {
    group: 'Memory',
    label: 'Conversation Context',
    summary: 'What of a conversation a model sees, and when it is condensed.',
    what: 'Budgets of the history, summaries, compression and notes about the conversation.',
    why: 'A model sees only its window; what does not fit has to be chosen or condensed.',
  },
  'memory-recall': {
    group: 'Memory',
    label: 'Recall',
    summary: 'How memories are found.',
    what: 'Kept by the memory, under settings of its own.',
    why: 'Finding more is slower and less exact.',
  },
  'memory-consolidation': {
    group: 'Memory',
    label: 'Consolidation',
    summary: 'How conversations become memories.',
    what: 'Kept by the memory, under settings of its own.',
    why: 'It calls models in the background.',
  },
  translation: {
    group: 'Tools',
    label: 'Translation',
    summary: 'Translating in the client.',
    what: 'Kept by the client; the service has no settings for it.',
    why: 'Has a place in the navigation.',
  },
  appearance: {
    group: 'Interface',
    label: 'Appearance',
    summary: 'How the client looks.',
    what: 'Kept by the client; the service has no settings for it.',
    why: 'Has a place in the navigation.',
  },
} as const satisfies Readonly<Record<string, Section>>;

export type SectionId = keyof typeof SECTIONS;
