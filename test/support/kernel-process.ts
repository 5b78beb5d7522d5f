// A process that runs an actor system for a moment and stops it. It never exits on purpose: it ends when nothing is left
// that would keep it alive. What it has learned goes to standard output.

import { createActorSystem } from '../../src/supervisor/system.ts';
import { counterActor } from './counter-actor.ts';

const system = await createActorSystem({ threads: { spare: true } });
const here = system.spawn(counterActor, { start: 1 }, { id: 'here' });
const there = system.spawn(counterActor, { start: 2 }, { id: 'there', placement: { thread: 'one' } });
const totals = [await here.ask('total', {}), await there.ask('total', {})];
// Left open on purpose: the stop must end them.
const open = [here.ask('never', {}), there.ask('never', {})].map((asked) => asked.catch(() => 'ended'));
await Promise.all([system.stop(), system.stop()]);
process.stdout.write(JSON.stringify([...totals, ...(await Promise.all(open))]));
