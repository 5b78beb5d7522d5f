import { expect, test } from 'vitest';
import { readArguments } from '../../../src/actors/tools/arguments.ts';
import { cutShort, isLong, referenceTo } from '../../../src/actors/tools/long-result.ts';
import { describeTool, internalTools, toolRegistry } from '../../../src/actors/tools/registry.ts';
import { present } from '../../../src/std/assert.ts';

const parametersOf = (tool: string) => present(internalTools.get(tool), tool).parameters;

test('defaults are filled in, null counts as left out, and texts that are numbers are numbers', () => {
  expect(readArguments(parametersOf('read_stored_output'), { key: 'k', offset: '10', limit: null })).toEqual({
    ok: true,
    args: { key: 'k', offset: 10, limit: 12_000 },
  });
});

test('the problems are told by name', () => {
  expect(readArguments(parametersOf('read_stored_output'), { limit: 99_999 })).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/key.*limit must be <= 12000|limit must be <= 12000.*key/),
  });
  expect(
    readArguments(parametersOf('update_conversation_state'), { slot: 'x', entries: ['a'] }),
  ).toMatchObject({
    ok: false,
    problem: expect.stringContaining('slot must be one of goals'),
  });
});

test('a great many problems are told as a few', () => {
  const read = readArguments(parametersOf('update_conversation_state'), {
    slot: 'goals',
    entries: Array.from({ length: 5_000 }, () => ({ deep: [] })),
  });
  expect(read.ok ? '' : read.problem.length).toBeLessThan(2_000);
});

test('every description is plain data, and requires nothing that has a default', () => {
  for (const tool of internalTools.all()) {
    const described = describeTool(tool);
    expect(structuredClone(described)).toEqual(described);
    const { properties, required } = described.parameters as {
      properties: Record<string, { default?: unknown }>;
      required: string[];
    };
    for (const name of required) expect(properties[name]?.default).toBeUndefined();
  }
});

test('the registry holds each of the internal tools once', () => {
  expect(internalTools.names.toSorted()).toEqual([
    'append_to_document',
    'checkpoint',
    'create_document',
    'delete_document',
    'document_query',
    'edit_document',
    'list_project_files',
    'list_stored_outputs',
    'present_exhibit',
    'project_search',
    'read_document',
    'read_stored_output',
    'read_thread',
    'read_user_message',
    'recall_user_history',
    'rename_document',
    'scratchpad_note',
    'tool_output_path',
    'tool_output_query',
    'tool_output_section',
    'update_conversation_state',
    'update_document',
    'view_image',
    'workspace_search',
  ]);
  const twice = [...internalTools.all()];
  expect(() => toolRegistry([twice, twice])).toThrow(/two tools/);
});

test('a long result is referenced by its key, or cut when it may not be kept', () => {
  const giant = '😀'.repeat(20_000);
  expect(isLong(giant)).toBe(true);
  expect(referenceTo('k_1', 'some_tool', giant)).toContain('read_stored_output');
  for (const text of [referenceTo('k_1', 'some_tool', giant), cutShort(giant)]) {
    expect(isLong(text)).toBe(false);
    expect(text.isWellFormed()).toBe(true);
  }
});
