// Nesting: how deep plain data from outside may be nested. One thread may have less of a stack than another one: a message that is
// too deep for it cannot be read there, and whatever else came at the same time is lost with it. Nobody's own data is so deep.

export const NESTING_MAX = 100;

/** Members of members, and so on: whether there are more than `levels` of them. */
export function isNestedDeeper(value: unknown, levels = NESTING_MAX): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isNestedDeeper(member, levels - 1));
}
