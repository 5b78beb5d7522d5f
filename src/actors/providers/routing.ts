// Routing: which models a turn may run on, in the order in which they are tried. Pure: what is known goes in, the plan comes
// out. A live turn, its walk down the chain and the preview for clients all use this one plan.
// R1 In order: what was asked for, what the caller knows to be good, the user's default, the format's default. Entries
//    without a provider part and of a provider that is not configured are passed over.
// R2 After them the first model of each configured provider; and those of a provider that lately failed come last of all.
// R3 Without any configured provider the offline responder answers; with one, never.
// R4 With fallback switched off, a model that was named is the only candidate.
// R5 A substitution is said in one sentence, but only when a model had been named.

/** The wire format's default for a turn that names no model where none is set. */
export const MODEL_DEFAULT = 'lmstudio:llama3.2';
export const OFFLINE_PROVIDER = 'local';
export const OFFLINE_MODEL = `${OFFLINE_PROVIDER}:offline`;

export interface RoutingFacts {
  /** In the order of the catalogue. */
  readonly configured: readonly string[];
  readonly isHealthy: (provider: string) => boolean;
  /** The first chat model that the provider is known to have. */
  readonly firstModel: (provider: string) => string | null;
  /** Null while the provider's list is not known. */
  readonly hasModel: (provider: string, modelId: string) => boolean | null;
  readonly roleModel: (role: string) => string | null;
  readonly defaultModel: string | null;
  readonly fallbackEnabled: boolean;
  readonly offlineEnabled: boolean;
}

/** Model references, as they were given. */
export interface ModelWish {
  readonly requested: string | null;
  /** The caller's own second choice. */
  readonly fallback?: string | null | undefined;
}

export interface Candidate {
  readonly provider: string;
  readonly modelId: string;
}

export interface RoutePlan {
  /** The model that was named, by whomever, its role expanded; null when nobody named one. */
  readonly wanted: string | null;
  /** In the order in which they are tried, none twice; empty when nothing can run. */
  readonly candidates: readonly Candidate[];
}

export function planRoute({ requested, fallback }: ModelWish, facts: RoutingFacts): RoutePlan {
  const named = [requested, fallback ?? null, facts.defaultModel]
    .map((reference) => expandRole(reference, facts))
    .filter((reference) => reference !== null);
  const candidates =
    facts.configured.length === 0 ? offlineCandidates(facts) : configuredCandidates(named, facts);
  return { wanted: named[0] ?? null, candidates };
}

/** R5. Null where the candidate is what was named, or where nothing was. */
export function substitutionOf({ wanted }: RoutePlan, candidate: Candidate): string | null {
  const reference = referenceOf(candidate);
  return wanted === null || wanted === reference
    ? null
    : `requested ${wanted} unavailable, using ${reference}`;
}

export function referenceOf({ provider, modelId }: Candidate): string {
  return `${provider}:${modelId}`;
}

function configuredCandidates(named: readonly string[], facts: RoutingFacts): readonly Candidate[] {
  const isStrict = !facts.fallbackEnabled && named.length > 0; // R4
  const references = isStrict ? named.slice(0, 1) : [...named, MODEL_DEFAULT];
  const chain = references
    .map(splitReference)
    .filter((candidate) => candidate !== null)
    .filter(({ provider }) => facts.configured.includes(provider))
    .filter((candidate) => isWorthTrying(candidate, named, facts));
  const all = withoutRepeats([...chain, ...(isStrict ? [] : firstModelsOf(facts))]);
  const isHealthy = ({ provider }: Candidate): boolean => facts.isHealthy(provider);
  return [...all.filter(isHealthy), ...all.filter((candidate) => !isHealthy(candidate))]; // R1, R2
}

/** Nobody asked for the format's default, so it is not tried where it is known to be missing. */
function isWorthTrying(candidate: Candidate, named: readonly string[], facts: RoutingFacts): boolean {
  const { provider, modelId } = candidate;
  return named.includes(referenceOf(candidate)) || facts.hasModel(provider, modelId) !== false;
}

function firstModelsOf(facts: RoutingFacts): Candidate[] {
  return facts.configured.flatMap((provider) => {
    const modelId = facts.firstModel(provider);
    return modelId === null ? [] : [{ provider, modelId }];
  });
}

function withoutRepeats(candidates: readonly Candidate[]): readonly Candidate[] {
  return [...new Map(candidates.map((candidate) => [referenceOf(candidate), candidate])).values()];
}

/** R3. */
function offlineCandidates(facts: RoutingFacts): readonly Candidate[] {
  const offline = splitReference(OFFLINE_MODEL);
  return facts.offlineEnabled && offline !== null ? [offline] : [];
}

/** `role:name` becomes the role's model; a role that is not set counts as nothing asked for. */
function expandRole(reference: string | null, facts: RoutingFacts): string | null {
  if (reference === null || reference.trim() === '') return null;
  return reference.startsWith('role:') ? facts.roleModel(reference.slice('role:'.length)) : reference;
}

/** The model's part may hold further colons. */
export function splitReference(reference: string): Candidate | null {
  const colon = reference.indexOf(':');
  if (colon <= 0 || colon === reference.length - 1) return null;
  return { provider: reference.slice(0, colon), modelId: reference.slice(colon + 1) };
}
