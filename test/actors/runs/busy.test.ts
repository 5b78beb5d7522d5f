import { expect, test } from 'vitest';
import { isSteerInto } from '../../../src/actors/runs/busy.ts';
import type { ChatRequest } from '../../../src/actors/runs/protocol.ts';

const TURN: ChatRequest = { message: 'one', session_id: 's', model: 'p:m', temperature: null };

test.each<[string, ChatRequest]>([
  ['the same options', { message: 'two', session_id: 's', model: 'p:m' }],
  [
    'options that are null',
    { message: 'two', session_id: 's', model: 'p:m', images: null, workflow_id: null },
  ],
  ['an empty list of images', { message: 'two', session_id: 's', model: 'p:m', images: [] }],
  ['memory, which is the rule', { message: 'two', session_id: 's', model: 'p:m', use_memory: true }],
])('a text with %s can be folded into a turn', (_, request) => {
  expect(isSteerInto(TURN, request)).toBe(true);
});

test.each<[string, ChatRequest]>([
  ['no text', { message: ' \n', session_id: 's', model: 'p:m' }],
  ['another model', { message: 'two', session_id: 's', model: 'p:other' }],
  ['no model, which may mean another one', { message: 'two', session_id: 's' }],
  ['a temperature', { message: 'two', session_id: 's', model: 'p:m', temperature: 0 }],
  ['no memory', { message: 'two', session_id: 's', model: 'p:m', use_memory: false }],
  [
    'a recording',
    { message: 'two', session_id: 's', model: 'p:m', audio: [{ workspace_id: 'w', doc_id: 'd' }] },
  ],
])('a request with %s cannot', (_, request) => {
  expect(isSteerInto(TURN, request)).toBe(false);
});
