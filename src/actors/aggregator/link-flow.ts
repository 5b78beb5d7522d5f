// Link flow: one attempt to link an account, from the consent page to the stored key. Pure.
// F1 A flow is claimed before its code is exchanged, so that a callback that comes twice mints one key.
// F2 It can be claimed for ten minutes, and once: whatever came of it, it stays settled.
// F3 The code goes to the address that the consent was asked at, whatever the settings say by then.

import { sha256Hex } from '../../std/hashes.ts';
import type { RandomSource } from '../../std/ids.ts';

export const FLOW_LIFETIME_MS = 10 * 60 * 1000;
/** 256 bits each. */
const NONCE_DIGITS = 64;
const VERIFIER_DIGITS = 64;
const CODE_CHARS_MAX = 2_000;

export interface LinkFlow {
  /** The nonce in the path of the callback: whoever knows it may settle the flow. */
  readonly id: string;
  readonly verifier: string;
  readonly baseUrl: string;
  readonly begunAtMs: number;
  readonly phase: Phase;
}

type Phase =
  | { readonly kind: 'pending' }
  | { readonly kind: 'exchanging' }
  /** The key is minted: too late to cancel. */
  | { readonly kind: 'storing' }
  | { readonly kind: 'linked' }
  | { readonly kind: 'failed'; readonly error: string };

export interface Arrival {
  readonly nonce: string;
  readonly code?: string;
  readonly error?: string;
}

export type Claim =
  | { readonly kind: 'claimed'; readonly flow: LinkFlow; readonly code: string }
  | { readonly kind: 'refused'; readonly flow: LinkFlow }
  | { readonly kind: 'incomplete' | 'replayed' | 'expired' };

export function beginFlow(baseUrl: string, random: RandomSource, nowMs: number): LinkFlow {
  return {
    id: random.hex(NONCE_DIGITS),
    verifier: random.hex(VERIFIER_DIGITS),
    baseUrl,
    begunAtMs: nowMs,
    phase: { kind: 'pending' },
  };
}

/** As PKCE's method S256 has it. */
export function challengeOf({ verifier }: LinkFlow): string {
  return Buffer.from(sha256Hex(verifier), 'hex').toString('base64url');
}

/** F1, F2. */
export function claimFlow(flow: LinkFlow | null, { nonce, code, error }: Arrival, nowMs: number): Claim {
  if (flow === null || flow.id !== nonce) return { kind: 'expired' };
  if (flow.phase.kind !== 'pending') return { kind: 'replayed' };
  if (isOver(flow, nowMs)) return { kind: 'expired' };
  if (code) {
    if (code.length > CODE_CHARS_MAX) return { kind: 'incomplete' };
    return { kind: 'claimed', flow: inPhase(flow, { kind: 'exchanging' }), code };
  }
  if (error === undefined) return { kind: 'incomplete' };
  return { kind: 'refused', flow: failed(flow, 'The aggregator did not grant access.') };
}

export function inPhase(flow: LinkFlow, phase: Phase): LinkFlow {
  return { ...flow, phase };
}

export function failed(flow: LinkFlow, error: string): LinkFlow {
  return inPhase(flow, { kind: 'failed', error });
}

export interface LinkStatus {
  readonly status: 'pending' | 'linked' | 'error' | 'expired';
  readonly error: string | null;
}

export function statusOf(flow: LinkFlow | null, id: string | undefined, nowMs: number): LinkStatus {
  const expired: LinkStatus = { status: 'expired', error: null };
  if (flow === null || flow.id !== id) return expired;
  switch (flow.phase.kind) {
    case 'pending':
      return isOver(flow, nowMs) ? expired : { status: 'pending', error: null };
    case 'exchanging':
    case 'storing':
      return { status: 'pending', error: null };
    case 'linked':
      return { status: 'linked', error: null };
    case 'failed':
      return { status: 'error', error: flow.phase.error };
  }
}

/** What a cancel answers; only `cancelled` means that the flow is to be dropped. */
export function cancelOf(flow: LinkFlow | null, id: string | undefined): 'cancelled' | 'pending' | 'linked' {
  if (flow === null || flow.id !== id) return 'cancelled';
  if (flow.phase.kind === 'linked') return 'linked';
  return flow.phase.kind === 'storing' ? 'pending' : 'cancelled';
}

function isOver({ begunAtMs }: LinkFlow, nowMs: number): boolean {
  return nowMs - begunAtMs >= FLOW_LIFETIME_MS;
}
