// Tool outputs actor: one on the edge thread, the only writer of its tables.

import { isoTimestamp } from '../../std/clock.ts';
import { isFault } from '../../std/errors.ts';
import type { Static } from '../../std/schema.ts';
import { type ActorContext, actor } from '../../supervisor/actor.ts';
import '../services.ts';
import { globMatches } from './glob.ts';
import { pageOf } from './page.ts';
import { type ToolOutput, toolOutputFaults, toolOutputs } from './protocol.ts';
import { isStorageKey, storageKey } from './storage-key.ts';
import { type KeptOutput, type OutputStore, outputStore } from './store.ts';

const SWEEP_INTERVAL_MS = 60_000;
/** Keeps a sweep short; what is left waits for the next one, and is invisible meanwhile. */
const SWEEP_OUTPUTS_MAX = 100;

export const toolOutputsActor = actor({
  module: import.meta.url,
  exportName: 'toolOutputsActor',
  protocol: toolOutputs,
  setup(context: ActorContext<typeof toolOutputs>) {
    const { clock } = context;
    const store = outputStore(context.services.storage);
    context.every('sweep', SWEEP_INTERVAL_MS, () => context.background(sweep(store, context)));

    const found = (key: string): KeptOutput => {
      const output = isStorageKey(key) ? store.get(key, clock.nowMs()) : undefined;
      if (output === undefined) throw notFound(key);
      return output;
    };

    return {
      list({ pattern = '*' }) {
        const outputs = [...store.list(clock.nowMs())]
          .filter((output) => globMatches(pattern, output.tool))
          .map(viewOf);
        return { outputs, count: outputs.length };
      },
      read({ storage_key, offset = 0, limit = null, metadata_only = false }) {
        const output = found(storage_key);
        if (metadata_only) return viewOf(output);
        const content = store.content(storage_key);
        if (content === undefined) throw notFound(storage_key);
        return {
          ...viewOf(output),
          content: pageOf(content, offset, limit),
          offset,
          limit,
          total_size: output.sizeChars,
        };
      },
      async remove({ storage_key }) {
        found(storage_key);
        if (!(await store.remove(storage_key))) throw notFound(storage_key);
        return { deleted: true, key: storage_key };
      },
      async keep({ tool, tool_call_id, content, kind }) {
        const storedAtMs = clock.nowMs();
        const key = storageKey(kind, tool, content, storedAtMs);
        await store.put({ key, tool, toolCallId: tool_call_id, storedAtMs }, content);
        return { key };
      },
    };
  },
});

/** A full disk puts it off until the next time; any other failure is a bug. */
async function sweep(store: OutputStore, context: ActorContext<typeof toolOutputs>): Promise<void> {
  try {
    await store.sweep(context.clock.nowMs(), SWEEP_OUTPUTS_MAX);
  } catch (error) {
    if (!isFault(error)) throw error;
    context.log.warn({ category: 'tools', error: error.message }, 'sweeping expired tool outputs is put off');
  }
}

function notFound(key: string) {
  return toolOutputFaults.tool_output_not_found(`There is no stored output ${key}, or it has expired`);
}

function viewOf(output: KeptOutput): Static<typeof ToolOutput> {
  const storedAt = isoTimestamp(output.storedAtMs);
  return {
    storage_key: output.key,
    tool: output.tool,
    size: output.sizeChars,
    created_at: storedAt,
    key: output.key,
    tool_name: output.tool,
    tool_call_id: output.toolCallId,
    size_chars: output.sizeChars,
    stored_at: storedAt,
  };
}
