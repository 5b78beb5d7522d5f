// Untrusted: members of what a server sent, read one by one. What is not what it should be is taken as not there.

import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { isNestedDeeper } from '../../std/nesting.ts';

export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function textOf(members: Members, name: string, charsMax: number): string | null {
  const value = members[name];
  return typeof value === 'string' ? value.slice(0, charsMax) : null;
}

export function listOf(members: Members, name: string): readonly unknown[] {
  const value = members[name];
  return Array.isArray(value) ? value : [];
}

/** The length of its JSON; infinite for what has none, and for what is nested too deep to be sent to another thread. */
export function jsonChars(value: unknown): number {
  const text = isNestedDeeper(value) ? undefined : JSON.stringify(value);
  return text?.length ?? Number.POSITIVE_INFINITY;
}

/** Takes any result as it is: what is in it is read by whoever asked, entry by entry. */
export const ANYTHING: StandardSchemaV1<unknown, Members> = {
  '~standard': {
    version: 1,
    vendor: 'troupe',
    validate: (value: unknown) => ({ value: isMembers(value) ? value : {} }),
  },
};
