import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openOAuthMcpServer, STATIC_CLIENT } from '../../support/oauth-mcp-server.ts';
import { type AuthSystem, clientOf, consentOf, openAuthSystem } from './auth-system.ts';

async function systemOfThisTest(): Promise<AuthSystem> {
  const system = await openAuthSystem({ threads: true });
  onTestFinished(() => system.close());
  return system;
}

async function restarted(system: AuthSystem): Promise<AuthSystem> {
  const again = await system.restart();
  onTestFinished(() => again.close());
  return again;
}

/** Which of the texts can be read somewhere in the folder. */
async function readable(directory: string, texts: Iterable<string>): Promise<readonly string[]> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true });
  const contents = await Promise.all(
    files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name))),
  );
  return [...texts].filter((text) => contents.some((content) => content.includes(text)));
}

test('tokens and registrations outlive a restart, and cannot be read in the data folder', async () => {
  const system = await systemOfThisTest();
  const registering = await openOAuthMcpServer();
  const configured = await openOAuthMcpServer({ registration: false });
  const auth = { client_id: STATIC_CLIENT.id, client_secret: STATIC_CLIENT.secret };
  await system.signIn(registering);
  await system.signIn(configured, auth);
  const given = [registering, configured].flatMap(({ authorization }) => [...authorization.given]);
  expect(given).toHaveLength(4);

  const again = await restarted(system);
  expect(await readable(again.directory, [...given, STATIC_CLIENT.secret])).toEqual([]);
  // So that the search above could have found something.
  expect(await readable(again.directory, ['server-'])).toEqual(['server-']);
  await clientOf(await again.connect(registering.url)).callTool({ name: 'greet' });
  await clientOf(await again.connect(configured.url, { auth })).callTool({ name: 'greet' });
  registering.distrust();
  await clientOf(await again.connect(registering.url)).callTool({ name: 'greet' });
  expect(registering.authorization.asked).toEqual(['register', 'authorization_code', 'refresh_token']);
});

test('a sign-in does not outlive a restart: its callback is late, and the next connect a new one', async () => {
  const system = await systemOfThisTest();
  const remote = await openOAuthMcpServer();
  const { authorization_url } = consentOf(await system.connect(remote.url));
  const back = await remote.authorization.consent(authorization_url);
  const again = await restarted(system);
  expect(await again.comeBack(back)).toBe('unknown');
  expect(await again.state(remote.url)).toMatchObject({ authorized: false, pending: false, error: null });
  await again.signIn(remote);
});

test('what was sealed with a key that is lost counts as not there', async () => {
  const system = await systemOfThisTest();
  const remote = await openOAuthMcpServer();
  await system.signIn(remote);
  await rm(join(system.directory, 'settings.key'));
  const again = await restarted(system);
  expect(await again.state(remote.url)).toMatchObject({ authorized: false, error: null });
  await again.signIn(remote);
});

test('an envoy that is lost with its thread is replaced, and the sign-in goes on', async () => {
  const system = await systemOfThisTest();
  const remote = await openOAuthMcpServer();
  const { authorization_url } = consentOf(await system.connect(remote.url));
  await system.loseEnvoy();
  expect(await system.comeBack(await remote.authorization.consent(authorization_url))).toBe('signed_in');
});
