// Routes of the runtime: the actor system to look at. Nothing here changes it.

import { runtime } from '../../actors/runtime/protocol.ts';
import { type Binding, bind, bindStream } from '../route.ts';

export const runtimeRoutes: readonly Binding[] = [
  bind('GET', '/api/runtime', runtime, 'snapshot'),
  bind('GET', '/api/runtime/threads', runtime, 'threads'),
  bindStream('GET', '/api/runtime/stream', runtime, 'watch'),
];
