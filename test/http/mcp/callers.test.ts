import { expect, test } from 'vitest';
import { assertCaller } from '../../../src/http/mcp/callers.ts';

const rules = { origins: ['https://ours.example', 'tauri://localhost'], publicHost: 'ours.example' };

test.each([
  '127.0.0.1:12319',
  'localhost',
  'localhost:1',
  'troupe.localhost:80',
  '[::1]:12319',
  '192.168.1.5:12319',
  'OURS.example',
  'ours.example:443',
])('a program that calls %s is let in', (host) => {
  expect(() => assertCaller({ host }, rules)).not.toThrow();
});

test.each([
  'evil.example',
  'localhost.evil.example:12319',
  '127.0.0.1.evil.example',
  'a@b',
  '',
  'notlocalhost',
])('a request to %s was led here by somebody else', (host) => {
  expect(() => assertCaller({ host }, rules)).toThrow('not reached under that name');
});

test('a page may call when its origin may call the rest of the API', () => {
  const host = 'localhost';
  expect(() => assertCaller({ host, origin: 'https://ours.example' }, rules)).not.toThrow();
  for (const origin of ['https://evil.example', 'null', 'https://ours.example.evil.example']) {
    expect(() => assertCaller({ host, origin }, rules)).toThrow('may not call');
  }
  expect(() =>
    assertCaller({ host, origin: 'https://any.example' }, { ...rules, origins: 'any' }),
  ).not.toThrow();
});

test('a page of the service itself may call it', () => {
  expect(() => assertCaller({ host: 'localhost:80', origin: 'http://localhost:80' }, rules)).not.toThrow();
  expect(() => assertCaller({ host: 'localhost:80', origin: 'http://localhost:81' }, rules)).toThrow();
});

test('without a public host there is none to be mistaken for', () => {
  expect(() => assertCaller({ host: 'ours.example' }, { ...rules, publicHost: '' })).toThrow();
});
