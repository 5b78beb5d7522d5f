// What becomes of direct completions when their thread is left: it is drained (see supervisor/threads/retirement.ts).

import { expect, test } from 'vitest';
import { directCompletionsActor } from '../../../src/actors/chat-completions/direct.ts';
import type { DirectOrder } from '../../../src/actors/chat-completions/protocol.ts';
import { providers } from '../../../src/actors/providers/protocol.ts';
import { usage } from '../../../src/actors/usage/protocol.ts';
import { actor } from '../../../src/supervisor/actor.ts';
import type { Protocol } from '../../../src/supervisor/protocol.ts';
import type { ActorSystem } from '../../../src/supervisor/system.ts';
import { openSystem } from '../../support/actor-system.ts';
import { openGate } from '../../support/gate.ts';
import { gatedCompletionsActor } from '../../support/gated-completions-actor.ts';
import { openParent } from '../../support/parent.ts';

const ROUTE = {
  reference: 'm:1',
  modelId: '1',
  supportsTools: true,
  supportsVision: true,
  price: null,
  connection: { provider: 'm', baseUrl: 'http://127.0.0.1:1' },
};

/** Answers the few questions of a direct completion. */
function openDouble<P extends Protocol>(system: ActorSystem, protocol: P, handlers: object): void {
  const behaviour = actor({
    module: import.meta.url,
    exportName: '(closes over its test)',
    protocol: protocol as Protocol,
    setup: () => handlers as never,
  });
  system.spawn(behaviour, undefined, { id: protocol.name, name: true });
}

test('an answer that is being streamed is streamed to its end', async () => {
  const system = await openSystem();
  const [gate, parent] = [await openGate(system), openParent(system)];
  openDouble(system, providers, { resolve: () => ROUTE, met: () => undefined });
  openDouble(system, usage, { admit: () => undefined, record: () => undefined, discard: () => undefined });
  const { module, exportName } = gatedCompletionsActor;
  const direct = parent.spawn(
    directCompletionsActor,
    { completions: { module, exportName } },
    { id: 'direct', restart: 'temporary' },
  );
  const request = { messages: [], tools: [], gate: gate.address };
  const order = { id: '1', model: null, wantsUsage: false, request } as unknown as DirectOrder;
  const pieces = direct.stream('stream', order);
  const said: string[] = [];
  const take = async (): Promise<void> => {
    for await (const frames of pieces) said.push(...frames.map(({ data }) => data));
  };
  const taken = take();
  await gate.arrived(1);
  const stopped = parent.stopChild('direct', { drain: true });
  gate.open();
  await taken;
  expect(said.join()).toMatch(/So far.*and on.*\[DONE\]/s);
  await stopped;
});
