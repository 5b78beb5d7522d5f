import { expect, test } from 'vitest';
import { Outlet } from '../../../src/actors/mcp-outward/outlet.ts';

const ANSWER = { texts: ['done'], isError: false };
const never = new AbortController().signal;

test('a slow reader gets the newest report, then the answer', async () => {
  const outlet = new Outlet();
  const news = outlet.news(never);
  outlet.progress('one');
  expect((await news.next()).value).toEqual({ kind: 'progress', message: 'one' });
  outlet.progress('two');
  outlet.progress('three');
  expect((await news.next()).value).toEqual({ kind: 'progress', message: 'three' });
  const last = news.next();
  outlet.answer(ANSWER);
  expect((await last).value).toEqual({ kind: 'answer', answer: ANSWER });
  expect((await news.next()).done).toBe(true);
});

test('what fails is thrown to the reader', async () => {
  const outlet = new Outlet();
  const next = outlet.news(never).next();
  outlet.fail(new Error('broken'));
  await expect(next).rejects.toThrow('broken');
});

test('a reader that is told to leave gets no answer', async () => {
  const leaving = new AbortController();
  const outlet = new Outlet();
  const next = outlet.news(leaving.signal).next();
  leaving.abort();
  expect((await next).done).toBe(true);
});
