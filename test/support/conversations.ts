// The conversations actor on a real system and real storage in a folder of its own; all of it ends with the test.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { conversationsActor } from '../../src/actors/conversations/actor.ts';
import { conversations, type NewRow } from '../../src/actors/conversations/protocol.ts';
import { workspacesActor } from '../../src/actors/workspaces/actor.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import type { Storage } from '../../src/storage/contract.ts';
import { storeIn } from '../../src/storage/data-folder.ts';
import { Environment } from '../../src/storage/environment.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { child } from '../../src/supervisor/children.ts';
import type { CallsOf, ReplyFrom, RequestTo } from '../../src/supervisor/protocol.ts';
import { type ActorSystem, createActorSystem } from '../../src/supervisor/system.ts';

/** The hour at which everything in these tests begins. */
export const T0 = Date.UTC(2026, 6, 14);

type Conversations = typeof conversations;

export interface ConversationsDoor {
  readonly directory: string;
  readonly storage: Storage;
  readonly system: ActorSystem;
  ask<Name extends CallsOf<Conversations>>(
    name: Name,
    message: RequestTo<Conversations, Name>,
  ): Promise<ReplyFrom<Conversations, Name>>;
  /** The index of the first row. */
  append(conversationId: string, runId: string, rows: readonly NewRow[], channel?: string): Promise<number>;
  /** Ends actor and storage. */
  close(): Promise<void>;
  /** The same, and opens both again on the same folder. */
  reopen(): Promise<ConversationsDoor>;
}

export interface ConversationsOptions {
  readonly clock?: Clock;
  /** Changes what the actors see of the storage. */
  readonly storage?: (storage: Storage) => Storage;
}

export async function openConversations(options: ConversationsOptions = {}): Promise<ConversationsDoor> {
  const directory = await mkdtemp(join(tmpdir(), 'conversations-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return openIn(directory, options);
}

async function openIn(directory: string, options: ConversationsOptions): Promise<ConversationsDoor> {
  const storage = await openStorage({ directory, primary: true });
  const system = await createActorSystem({
    clock: options.clock ?? systemClock,
    services: { storage: options.storage?.(storage) ?? storage, version: '0.0.0' },
    children: [
      // A conversation that is deleted leaves its project.
      child(workspacesActor, undefined, { id: 'workspaces', name: true }),
      child(conversationsActor, undefined, { id: 'conversations', name: true }),
    ],
  });
  let isOpen = true;
  const close = async () => {
    if (!isOpen) return;
    isOpen = false;
    await system.stop();
    await storage.close();
  };
  onTestFinished(close);
  const ref = system.named(conversations);
  return {
    directory,
    storage,
    system,
    ask: (name, message) => ref.ask(name, message),
    async append(conversation_id, run_id, rows, channel = '_global') {
      return (await ref.ask('append', { conversation_id, run_id, channel, rows })).firstIndex;
    },
    close,
    async reopen() {
      await close();
      return openIn(directory, options);
    },
  };
}

/** Every key that is stored in the folder of a door that is closed: rows, index entries, postings. */
export async function storedKeys(directory: string): Promise<string[]> {
  const environment = new Environment(storeIn(directory));
  try {
    const everything = { lower: Buffer.of(0), upper: Buffer.of(0xff) };
    const pairs = environment.scan('rows', everything, { keysOnly: true, fresh: true });
    return Array.from(pairs, ({ key }) => key.toString('latin1'));
  } finally {
    await environment.close();
  }
}

export function said(role: 'user' | 'assistant', content: string, atMs = T0): NewRow {
  return { role, content, atMs };
}

export function turn(question: string, answer: string, atMs = T0): NewRow[] {
  return [said('user', question, atMs), said('assistant', answer, atMs + 1)];
}
