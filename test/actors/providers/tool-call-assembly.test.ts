import { describe, expect, test } from 'vitest';
import {
  ARGUMENTS_LEVELS_MAX,
  assembleToolCalls,
  TOOL_CALLS_PER_ANSWER_MAX,
  type ToolCallFragment,
} from '../../../src/actors/providers/tool-call-assembly.ts';
import { seededRandom } from '../../../src/std/ids.ts';

const fragment = (change: Partial<ToolCallFragment>): ToolCallFragment => ({
  index: null,
  id: null,
  name: null,
  argumentsText: '',
  ...change,
});

function assembled(...fragments: readonly Partial<ToolCallFragment>[]) {
  const assembly = assembleToolCalls(seededRandom(3));
  for (const change of fragments) assembly.add(fragment(change));
  return assembly.calls().map((call) => ({ id: call.id, name: call.name, arguments: call.arguments }));
}

describe('tool calls are assembled', () => {
  test('from a provider that sends every parallel call as index 0', () => {
    expect(
      assembled(
        { index: 0, id: 'a', name: 'first', argumentsText: '{"n":1}' },
        { index: 0, id: 'b', name: 'second', argumentsText: '{"n"' },
        { index: 0, argumentsText: ':2}' },
      ),
    ).toEqual([
      { id: 'a', name: 'first', arguments: { n: 1 } },
      { id: 'b', name: 'second', arguments: { n: 2 } },
    ]);
  });

  test('from a provider that gives no index', () => {
    expect(
      assembled(
        { id: 'a', name: 'first', argumentsText: '{' },
        { id: 'b', name: 'second' },
        { id: 'a', argumentsText: '}' },
        { argumentsText: '{"n":2}' },
      ),
    ).toEqual([
      { id: 'a', name: 'first', arguments: {} },
      { id: 'b', name: 'second', arguments: { n: 2 } },
    ]);
  });

  test('from a provider that repeats id and name with every fragment', () => {
    expect(
      assembled(
        { index: 1, id: 'a', name: 'only', argumentsText: '{"k":' },
        { index: 1, id: 'a', name: 'only', argumentsText: '"v"}' },
      ),
    ).toEqual([{ id: 'a', name: 'only', arguments: { k: 'v' } }]);
  });

  test('from a provider whose id comes late', () => {
    expect(assembled({ index: 0, name: 'late' }, { index: 0, id: 'x', argumentsText: '{}' })).toEqual([
      { id: 'x', name: 'late', arguments: {} },
    ]);
  });

  test('whose arguments have no more levels than anybody can go down into', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    const argumentsOf = (argumentsText: string) => assembled({ index: 0, argumentsText })[0]?.arguments;
    expect(argumentsOf(nested(ARGUMENTS_LEVELS_MAX))).toEqual(JSON.parse(nested(ARGUMENTS_LEVELS_MAX)));
    expect(argumentsOf(nested(ARGUMENTS_LEVELS_MAX + 1))).toBeNull();
    expect(argumentsOf(nested(1_000_000))).toBeNull();
  });

  test('up to a bound', () => {
    const assembly = assembleToolCalls(seededRandom(3));
    for (let index = 0; index < TOOL_CALLS_PER_ANSWER_MAX; index += 1) {
      expect(assembly.add(fragment({ index, id: `${index}` }))).toBe(true);
    }
    expect(assembly.add(fragment({ index: TOOL_CALLS_PER_ANSWER_MAX, id: 'one more' }))).toBe(false);
  });
});
