// Rendezvous hashing (highest random weight): Thaler and Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998.
// Each member gets a weight for the key, and the heaviest has it. A member that goes gives up its own keys only, one that
// comes takes only those that it now weighs heaviest for: 1 of n on average. No ring, no virtual nodes, no state.

/** A 32-bit hash of the text: FNV-1a over its code units, finished as MurmurHash3 does, so that near texts lie far apart. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return mix(hash);
}

/** The member that a key belongs to; undefined when there is none. */
export function memberFor<Member extends { readonly hash: number }>(
  key: string,
  members: readonly Member[],
): Member | undefined {
  const hash = hashOf(key);
  let heaviest: Member | undefined;
  let weightMax = -1;
  for (const member of members) {
    const weight = mix(hash ^ member.hash);
    if (weight > weightMax) {
      heaviest = member;
      weightMax = weight;
    }
  }
  return heaviest;
}

function mix(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
