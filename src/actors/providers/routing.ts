// Routing: which model runs a turn. Pure: what is known goes in, the choice comes out.
// R1 In order: what was asked for, the user's default, the format's default. Entries without a provider part, of a provider
//    that is not configured, or of one that lately failed, are passed over.
// R2 Nothing of that: the first model of a healthy configured provider; then a provider that lately failed after all.
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

export interface ModelChoice {
  readonly provider: string;
  readonly modelId: string;
  /** R5. */
  readonly substitution: string | null;
}

interface Candidate {
  readonly provider: string;
  readonly modelId: string;
}

/** Null when nothing can run. */
export function chooseModel(requested: string | null, facts: RoutingFacts): ModelChoice | null {
  const named = [requested, facts.defaultModel]
    .map((reference) => expandRole(reference, facts))
    .filter((reference) => reference !== null);
  const wanted = named[0] ?? null;
  const choice = facts.configured.length === 0 ? offlineChoice(facts) : configuredChoice(named, facts);
  if (choice === null) return null;
  const reference = `${choice.provider}:${choice.modelId}`;
  const isSubstitute = wanted !== null && wanted !== reference;
  return {
    ...choice,
    substitution: isSubstitute ? `requested ${wanted} unavailable, using ${reference}` : null,
  };
}

function configuredChoice(named: readonly string[], facts: RoutingFacts): Candidate | null {
  const isStrict = !facts.fallbackEnabled && named.length > 0; // R4
  const references = isStrict ? named.slice(0, 1) : [...named, MODEL_DEFAULT];
  const candidates = references
    .map(splitReference)
    .filter((candidate) => candidate !== null)
    .filter(({ provider }) => facts.configured.includes(provider))
    .filter((candidate) => isWorthTrying(candidate, named, facts));
  const firstModels = isStrict ? [] : firstModelsOf(facts);
  const all = [...candidates, ...firstModels];
  return all.find(({ provider }) => facts.isHealthy(provider)) ?? all[0] ?? null; // R1, R2
}

/** Nobody asked for the format's default, so it is not tried where it is known to be missing. */
function isWorthTrying(
  { provider, modelId }: Candidate,
  named: readonly string[],
  facts: RoutingFacts,
): boolean {
  return named.includes(`${provider}:${modelId}`) || facts.hasModel(provider, modelId) !== false;
}

function firstModelsOf(facts: RoutingFacts): Candidate[] {
  return facts.configured.flatMap((provider) => {
    const modelId = facts.firstModel(provider);
    return modelId === null ? [] : [{ provider, modelId }];
  });
}

/** R3. */
function offlineChoice(facts: RoutingFacts): Candidate | null {
  return facts.offlineEnabled ? splitReference(OFFLINE_MODEL) : null;
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
