// Service: what the process says about itself.

import { type Static, Type } from '../../std/schema.ts';
import { call, protocol } from '../../supervisor/protocol.ts';

/** The clients' protocol number; they refuse to talk to another one. */
export const PROTOCOL_VERSION = 1;
/** The oldest client that understands this service. */
export const CLIENT_VERSION_MIN = '0.20.0';

const Text = Type.String();
const NullableText = Type.Union([Text, Type.Null()]);
const NullableNumber = Type.Union([Type.Number(), Type.Null()]);
const Engine = { provider: Text, model: Text, dimensions: Type.Integer() };
const Progress = Type.Object({ done: Type.Integer(), total: Type.Integer() });
const StoreHealth = Type.Object({ status: Text, error: NullableText });

/** What a stranger may learn about the process: no paths, no host names, no keys. */
export const Health = Type.Object({
  status: Text,
  version: Text,
  protocol_version: Type.Integer(),
  min_client_version: Text,
  cluster: Text,
  api: Type.Object({ status: Text }),
  compute: Type.Object({ device: Text, cuda_available: Type.Boolean() }),
  translation: Type.Object({
    status: Text,
    models: Type.Object({ language_detection: NullableText, translation: NullableText }),
  }),
  embeddings: Type.Union([
    Type.Object({
      ...Engine,
      status: Type.String({ description: 'ready or unavailable' }),
      error: NullableText,
      next: Type.Union([
        Type.Object(
          { ...Engine, progress: Type.Union([Progress, Type.Null()]) },
          { description: 'Its vectors are being made; until then the others are searched.' },
        ),
        Type.Null(),
      ]),
    }),
    Type.Null(),
  ]),
  memory: Type.Optional(Type.Record(Text, StoreHealth)),
  storage: Type.Optional(
    Type.Object({
      postgres_size_mb: NullableNumber,
      neo4j_size_mb: NullableNumber,
      redis_memory_mb: NullableNumber,
    }),
  ),
});
export type Health = Static<typeof Health>;

export const service = protocol('service', {
  index: call({
    summary: 'A greeting that says what this is.',
    request: Type.Object({}),
    reply: Type.Object({ message: Text }),
  }),
  version: call({
    summary:
      'Versions of service and protocol, and the oldest client that fits; the first call of every client.',
    request: Type.Object({}),
    reply: Type.Object({ version: Text, protocol_version: Type.Integer(), min_client_version: Text }),
  }),
  health: call({
    summary: 'How the service is; `include_memory` and `include_storage` add the stores.',
    request: Type.Object({
      include_memory: Type.Optional(Type.Boolean()),
      include_storage: Type.Optional(Type.Boolean()),
    }),
    reply: Health,
  }),
});
