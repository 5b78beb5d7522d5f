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

/** `any` is for the addresses that the operator has set. */
export type EgressPolicy = 'any' | 'private_too' | 'public_only';

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
  }
}

/** `[::1]` as `::1`. */
function bare(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

const systemLookup: LookupFunction = (hostname, options, callback) =>
  dns.lookup(hostname, options as dns.LookupAllOptions, callback);
