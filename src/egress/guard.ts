// Guard: to which addresses a request may go whose URL somebody else gave us. For whoever fetches such a URL.
// E1 The address is checked that the connection is made to, at the time when it is made: a name that resolves to something
//    else the second time gets no further than the first.
// E2 All addresses of a name have to pass: a name that also points inside is not worth a race.
// E3 No policy but `any` lets a request through to the metadata service of a cloud: no model is served there.
// A redirect is a connection of its own and is checked like the first one.

import dns from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressKind, addressKind } from './addresses.ts';

/** `any` is for the addresses that the operator has set; the last two are for what a server names: see `policyBeside`. */
export type EgressPolicy = 'any' | 'private_too' | 'public_only' | 'public_or_loopback' | 'public_or_private';

/** What a policy refused; the message names the host as it was given, never what it resolves to. */
export class EgressRefused extends Error {
  constructor(host: string, kind: AddressKind) {
    super(`${host} has a ${SPOKEN[kind]} address, which is not allowed here`);
    this.name = 'EgressRefused';
  }
}

const SPOKEN: Readonly<Record<AddressKind, string>> = {
  public: 'public',
  private: 'private',
  loopback: 'loopback',
  link_local: 'link-local',
  metadata: 'metadata',
  shared: 'carrier-internal',
  unspecified: 'unspecified',
  multicast: 'multicast',
  reserved: 'reserved',
};

export interface ConnectorOptions {
  readonly timeoutMs: number;
  /** How names are resolved; the system's way when absent. */
  readonly lookup?: LookupFunction;
}

/** The `connect` of an undici agent that obeys the policy. E1. */
export function guardedConnector(
  policy: EgressPolicy,
  { timeoutMs, lookup = systemLookup }: ConnectorOptions,
): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    timeout: timeoutMs,
    lookup: guardedLookup(policy, lookup),
  });
  return (options, callback) => {
    // Nobody looks up what is an address already.
    const refused = refusalOfLiteral(policy, options.hostname);
    if (refused === null) connect(options, callback);
    else callback(refused, null);
  };
}

/**
 * Says now whether a URL will be refused, for an early answer; null when it will not, or when its name does not resolve.
 * No substitute for the guarded connection: the name may resolve to something else later.
 */
export async function refusalOf(
  policy: EgressPolicy,
  url: string,
  lookup: LookupFunction = systemLookup,
): Promise<EgressRefused | null> {
  const { hostname } = new URL(url);
  const literal = refusalOfLiteral(policy, hostname);
  if (literal !== null || isIP(bare(hostname)) !== 0) return literal;
  return new Promise((resolve) => {
    guardedLookup(policy, lookup)(hostname, { all: true }, (error) => {
      resolve(error instanceof EgressRefused ? error : null);
    });
  });
}

/**
 * What URLs may be asked that the server at this one names: its own surroundings and the public. Only an address or a name that
 * cannot be anything else makes it this machine: another name could be pointed here by whoever owns it.
 */
export async function policyBeside(
  url: string,
  lookup: LookupFunction = systemLookup,
): Promise<EgressPolicy> {
  const hostname = bare(new URL(url).hostname);
  if (isLoopbackName(hostname)) return 'public_or_loopback';
  const kinds = isIP(hostname) === 0 ? await kindsOf(hostname, lookup) : [addressKind(hostname)];
  return kinds.length > 0 && kinds.every(isInside) ? 'public_or_private' : 'public_only';
}

function kindsOf(hostname: string, lookup: LookupFunction): Promise<readonly AddressKind[]> {
  return new Promise((resolve) => {
    lookup(hostname, { all: true }, (error, found) => {
      const addresses = error === null && Array.isArray(found) ? found : [];
      resolve(addresses.map(({ address }) => addressKind(address)));
    });
  });
}

function guardedLookup(policy: EgressPolicy, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, found, family) => {
      if (error !== null) return callback(error, found, family);
      const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
      const kind = addresses.map(addressKind).find((one) => !isAllowed(policy, one));
      if (kind === undefined) return callback(null, found, family);
      return callback(new EgressRefused(hostname, kind), found, family); // E2
    });
  };
}

function refusalOfLiteral(policy: EgressPolicy, hostname: string): EgressRefused | null {
  const address = bare(hostname);
  if (isIP(address) === 0) return null;
  const kind = addressKind(address);
  return isAllowed(policy, kind) ? null : new EgressRefused(hostname, kind);
}

function isAllowed(policy: EgressPolicy, kind: AddressKind): boolean {
  switch (policy) {
    case 'any':
      return true;
    case 'private_too':
      return kind !== 'metadata'; // E3
    case 'public_only':
      return kind === 'public';
    case 'public_or_loopback':
      return kind === 'public' || kind === 'loopback';
    case 'public_or_private':
      return kind === 'public' || isInside(kind);
  }
}

function isInside(kind: AddressKind): boolean {
  return kind === 'private' || kind === 'shared';
}

/** Names that stand for this machine wherever they are looked up (RFC 6761). */
export function isLoopbackName(hostname: string): boolean {
  return /^(.+[.])?localhost$/.test(hostname) || addressKind(bare(hostname)) === 'loopback';
}

/** `[::1]` as `::1`. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

const systemLookup: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, options as dns.LookupAllOptions, callback);
