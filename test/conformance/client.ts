// Client: what the conformance package runs as "the client", once a scenario, with the URL of the scenario's server as its last
// argument. It drives a running Troupe over its own API, as a user's program would: configure the server, connect, sign in
// where that is asked for, list the tools, and let an agent call each of them.
// TROUPE_URL names the service; its model is the double of `suite.ts`, which calls what its user tells it to call.

import { callMessage, exampleArguments } from '../support/obedient-model.ts';
import { DOUBLE_MODEL, serviceClient } from '../support/troupe.ts';

/** Sign-ins that one scenario may ask for: each may find that the scope was too small. */
const ROUNDS_MAX = 4;
const SIGNED_IN_WITHIN_MS = 20_000;
const POLL_MS = 100;
const SERVER_NAME_CHARS = 16;

interface ToolEntry {
  readonly name: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
}

const url = process.argv.at(-1) as string;
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? 'unnamed';
const context = JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as Readonly<
  Record<string, string>
>;
/** Short, so that a model's name for its tools is not cut. */
const server = `s${scenario.replaceAll(/[^a-z0-9]+/g, '').slice(-SERVER_NAME_CHARS)}`;
const troupe = serviceClient(() => process.env['TROUPE_URL'] as string, { model: DOUBLE_MODEL });

await configure();
for (let round = 1; round <= ROUNDS_MAX; round += 1) {
  await connect();
  await callAllTools();
  if (!(await wantsSignIn())) break;
}
await troupe.call('POST', '/api/mcp/disconnect', { server });

async function configure(): Promise<void> {
  const { client_id, client_secret } = context;
  const auth = { type: 'oauth', ...(client_id === undefined ? {} : { client_id, client_secret }) };
  const config = { transport: 'streamable_http', url, ...(scenario.startsWith('auth/') ? { auth } : {}) };
  await expectOk(await troupe.call('DELETE', `/api/mcp/servers/${server}`), [200, 404]);
  await expectOk(await troupe.call('POST', '/api/mcp/servers', { name: server, config }), [201]);
}

async function connect(): Promise<void> {
  const attempt = () => troupe.call('POST', '/api/mcp/connect', { server });
  let answer = await attempt();
  // A busy machine may need longer to begin a sign-in than a connect waits for it; the next one finds it then.
  while (/the connecting goes on$/.test(answer.body.error ?? '')) answer = await attempt();
  await expectOk(answer, [200, 202]);
  if (answer.status === 202) await signIn(answer.body.authorization_url);
}

/** What a browser does: the authorization server of a scenario agrees at once, and sends it on to Troupe's callback. */
async function signIn(authorizationUrl: string): Promise<void> {
  const page = await fetch(authorizationUrl);
  await page.text();
  if (!page.ok) throw new Error(`the sign-in ended with ${page.status} at ${page.url}`);
  const untilMs = performance.now() + SIGNED_IN_WITHIN_MS;
  while (performance.now() < untilMs) {
    const now = await status();
    if (now.status === 'connected') return;
    if (now.auth_state?.error != null) throw new Error(now.auth_state.error);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error('signed in, and not connected');
}

async function callAllTools(): Promise<void> {
  const { body } = await troupe.call('GET', `/api/mcp/tools?server=${server}`);
  for (const { name, input_schema } of body.tools as ToolEntry[]) {
    const message = callMessage({ server, tool: name, arguments: exampleArguments(input_schema) });
    const turn = await troupe.turn(message);
    const result = turn.events.find(({ event }) => event === 'tool_result');
    if (result === undefined) throw new Error(`${name} was not called`);
    process.stdout.write(`${name}: ${result.data.content}\n`);
  }
}

/** A tool may want more than its server does. */
async function wantsSignIn(): Promise<boolean> {
  const { status: now, auth_state } = await status();
  return now === 'auth_required' || auth_state?.pending === true;
}

async function status() {
  const { body } = await troupe.call('GET', '/api/mcp/servers');
  return body.servers.find((one: { readonly name: string }) => one.name === server);
}

async function expectOk(
  { status: code, body }: { readonly status: number; readonly body: unknown },
  expected: readonly number[],
): Promise<void> {
  if (!expected.includes(code)) throw new Error(`${code}: ${JSON.stringify(body)}`);
}
