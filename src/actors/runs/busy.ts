// Busy: what a request may become whose conversation has a turn that is live or waiting already.

import type { ChatRequest } from './protocol.ts';

const TEXT_AND_PLACE: ReadonlySet<string> = new Set(['message', 'session_id']);

/** A steer carries a text and nothing else: whatever else is asked for must be what the turn does anyway. */
export function isSteerInto(turn: ChatRequest, request: ChatRequest): boolean {
  if (!request.message?.trim() || request.images?.length || request.audio?.length) return false;
  const options = new Set([...Object.keys(turn), ...Object.keys(request)] as (keyof ChatRequest)[]);
  return [...options].every((name) => TEXT_AND_PLACE.has(name) || sameOption(turn, request, name));
}

function sameOption(turn: ChatRequest, request: ChatRequest, name: keyof ChatRequest): boolean {
  if (name === 'images' || name === 'audio') return true;
  if (name === 'use_memory') return (turn[name] ?? true) === (request[name] ?? true);
  return (turn[name] ?? null) === (request[name] ?? null);
}
