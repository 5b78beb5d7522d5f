// The import table of ARCHITECTURE.md, enforced. A layer lists what it may import of ours; a fence names the one place
// that may import a package.

const NOUN = '^src/actors/([^/]+)/';
const ANY_NOUN = '^src/actors/[^/]+/';
const PROTOCOLS = '^src/actors/[^/]+/protocol[.]ts$';
const COMPOSITION = ['^src/[^/]+[.]ts$', '^src/boot/'];

/** Compiled when it is installed: a machine without a compiler goes without. */
const OPTIONAL = '(^|/)node_modules/hnswlib-node/';

const layer = (name, from, mayImport, why) => ({
  name: `layer-${name}`,
  severity: 'error',
  comment: why,
  from: { path: from },
  to: { path: '^(src|test|bench|scripts)/', pathNot: mayImport },
});

const fence = (name, packages, inside) => ({
  name: `fence-${name}`,
  severity: 'error',
  comment: `Only ${inside} may import ${packages.join(', ')}.`,
  from: { path: '^src/', pathNot: inside },
  to: { path: packages.map((one) => `^(node_modules/|node:)?${one}(/|$)`) },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    layer('std', '^src/std/', ['^src/std/'], 'std is a leaf: it knows nothing of ours.'),
    layer('supervisor', '^src/supervisor/', ['^src/supervisor/', '^src/std/'], 'The kernel knows no domain.'),
    layer('egress', '^src/egress/', ['^src/egress/', '^src/std/'], 'The guard knows addresses, no domain.'),
    layer(
      'storage',
      '^src/storage/',
      ['^src/storage/', '^src/std/'],
      'Storage knows no domain and no actor.',
    ),
    layer(
      'actors',
      NOUN,
      ['^src/actors/$1/', PROTOCOLS, '^src/actors/services[.]ts$', '^src/(supervisor|storage|egress|std)/'],
      'Actors know each other by their protocols only.',
    ),
    layer(
      'services',
      '^src/actors/services[.]ts$',
      ['^src/(supervisor|storage|std)/'],
      'Services name no actor.',
    ),
    layer(
      'tree',
      '^src/actors/tree[.]ts$',
      [ANY_NOUN, '^src/actors/services[.]ts$', '^src/(supervisor|storage|std)/'],
      'The tree puts actors together, and nothing else.',
    ),
    layer(
      'http',
      '^src/http/',
      [
        '^src/http/',
        PROTOCOLS,
        '^src/mcp-server/server[.]ts$',
        '^src/supervisor/protocol[.]ts$',
        '^src/std/',
      ],
      'A route sends messages: it sees protocols, never an actor, the kernel or storage.',
    ),
    layer(
      'top',
      '^src/top/',
      ['^src/top/', '^src/actors/runtime/protocol[.]ts$', '^src/std/'],
      'Top is a client: it knows what the service says, not how it is made.',
    ),
    layer(
      'mcp-server',
      '^src/mcp-server/',
      ['^src/mcp-server/', '^src/std/'],
      'The protocol knows offers of tools, not who makes them; its bridge is a client.',
    ),
    layer('composition', COMPOSITION, ['^src/'], 'The service does not need its tests, benches and scripts.'),
    {
      name: 'protocol-is-a-door',
      severity: 'error',
      comment:
        'A protocol shows nothing of what is behind it: of its own folder it may import the settings only.',
      from: { path: '^src/actors/([^/]+)/protocol[.]ts$' },
      to: { path: '^src/actors/$1/', pathNot: '^src/actors/$1/settings[.]ts$' },
    },
    {
      name: 'tree-is-for-the-composition',
      severity: 'error',
      comment: 'Only what puts the service together imports the tree.',
      from: { path: '^src/', pathNot: COMPOSITION },
      to: { path: '^src/actors/tree[.]ts$' },
    },

    fence('log-and-schemas', ['pino', 'typebox'], '^src/std/'),
    fence('threads', ['worker_threads'], '^src/supervisor/'),
    fence('storage', ['lmdb', 'hnswlib-node'], '^src/storage/'),
    fence('providers', ['@anthropic-ai/sdk'], '^src/actors/providers/'),
    fence('mcp-server', ['@modelcontextprotocol/server'], '^src/(mcp-server|http/mcp)/'),
    fence('mcp-client', ['@modelcontextprotocol/client'], '^src/(mcp-server|actors/mcp-(auth|sessions))/'),
    fence(
      'requests',
      ['undici', 'eventsource-parser'],
      '^src/(actors/(providers|aggregator|embeddings|mcp|mcp-auth|mcp-sessions)|egress)/',
    ),
    fence('documents', ['unpdf', 'htmlparser2', 'chardet'], '^src/actors/ingestion/'),
    fence('models', ['onnxruntime-node', '@huggingface/tokenizers'], '^src/actors/embeddings/'),
    fence('processes', ['child_process'], '^src/actors/mcp-sessions/'),
    fence('http', ['fastify', '@fastify'], '^src/http/'),
    fence('time-and-randomness', ['crypto', 'timers'], '^src/std/'),

    {
      name: 'no-circle',
      severity: 'error',
      comment:
        'Modules that load each other meet half-loaded ones. Types that name each other are erased, and allowed.',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-undeclared-package',
      severity: 'error',
      comment: 'What src imports must be in `dependencies`: hosts that embed the package get nothing else.',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'],
        pathNot: OPTIONAL,
      },
    },
    {
      name: 'optional-package-behind-its-door',
      severity: 'error',
      comment: 'What may be missing on a machine is loaded by one file, which knows what to do without it.',
      from: { path: '^src/', pathNot: '^src/storage/hnsw[.]ts$' },
      to: { path: OPTIONAL },
    },
  ],
  options: {
    // Types count too: a layer that names another's types depends on it.
    tsPreCompilationDeps: true,
    doNotFollow: { path: '^node_modules/' },
    // As TypeScript resolves: the types of a package are enough for it to be found.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.cjs', '.mjs', '.d.ts'],
    },
  },
};
