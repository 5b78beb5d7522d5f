// The edge's small actors (config, tool outputs, workspaces, conversations, tools, usage) on a real system and real storage in
// a folder of their own; all of it ends with the test.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { configActor } from '../../src/actors/config/actor.ts';
import { readOperatorFile } from '../../src/actors/config/operator-file.ts';
import { conversationsActor } from '../../src/actors/conversations/actor.ts';
import { toolOutputsActor } from '../../src/actors/tool-outputs/actor.ts';
import { toolsActor } from '../../src/actors/tools/actor.ts';
import { usageActor } from '../../src/actors/usage/actor.ts';
import { workspacesActor } from '../../src/actors/workspaces/actor.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import type { Storage } from '../../src/storage/contract.ts';
import { openStorage } from '../../src/storage/storage.ts';
import { child } from '../../src/supervisor/children.ts';
import type {
  AskOptions,
  CallsOf,
  Protocol,
  ReplyFrom,
  RequestTo,
  TellsOf,
} from '../../src/supervisor/protocol.ts';
import { createActorSystem } from '../../src/supervisor/system.ts';

export interface EdgeActors {
  readonly directory: string;
  readonly storage: Storage;
  ask<P extends Protocol, Name extends CallsOf<P>>(
    protocol: P,
    name: Name,
    message: RequestTo<P, Name>,
    options?: AskOptions,
  ): Promise<ReplyFrom<P, Name>>;
  tell<P extends Protocol, Name extends TellsOf<P>>(
    protocol: P,
    name: Name,
    message: RequestTo<P, Name>,
  ): void;
  /** Stops everything and starts it again on the same folder. */
  reopen(options?: EdgeOptions): Promise<EdgeActors>;
  close(): Promise<void>;
}

export interface EdgeOptions {
  readonly clock?: Clock;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Serves other tools than the internal ones. */
  readonly toolsActor?: typeof toolsActor;
  /** Changes what the actors see of the storage. */
  readonly storage?: (storage: Storage) => Storage;
}

export async function openEdgeActors(options: EdgeOptions = {}): Promise<EdgeActors> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-actors-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return openIn(directory, options);
}

async function openIn(directory: string, options: EdgeOptions): Promise<EdgeActors> {
  const storage = await openStorage({ directory, primary: true });
  const configArgs = {
    environment: options.environment ?? {},
    keyFile: join(directory, 'secrets.key'),
    operator: await readOperatorFile(join(directory, 'settings.json')),
  };
  const system = await createActorSystem({
    clock: options.clock ?? systemClock,
    services: { storage: options.storage?.(storage) ?? storage, version: '0.0.0' },
    children: [
      child(configActor, configArgs, { id: 'config', name: true }),
      child(workspacesActor, undefined, { id: 'workspaces', name: true }),
      child(conversationsActor, undefined, { id: 'conversations', name: true }),
      child(toolOutputsActor, undefined, { id: 'tool-outputs', name: true }),
      child(options.toolsActor ?? toolsActor, undefined, { id: 'tools', name: true }),
      child(usageActor, undefined, { id: 'usage', name: true }),
    ],
  });
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    await system.stop();
    await storage.close();
  };
  onTestFinished(close);
  return {
    directory,
    storage,
    ask: (protocol, name, message, askOptions) => system.named(protocol).ask(name, message, askOptions),
    tell: (protocol, name, message) => void system.named(protocol).tell(name, message),
    async reopen(changed = options) {
      await close();
      return openIn(directory, changed);
    },
    close,
  };
}
