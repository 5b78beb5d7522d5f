// Callers: which requests to `/mcp` may come from where. A page that somebody visits must not reach a service on their own
// machine by giving its address a name of its own (DNS rebinding).
// H1 `Host` names an address, this machine, or the public host: names that a stranger can point here are refused.
// H2 A request of a page (`Origin`) comes from a page that may call the rest of the API, too, or that this service served
//    itself. Programs send none.

import { isIP } from 'node:net';
import type { AllowedOrigins } from '../cors.ts';
import { edgeFaults } from '../errors.ts';

export interface CallerRules {
  readonly origins: AllowedOrigins;
  /** The name under which the service is known outside; empty when it has none. */
  readonly publicHost: string;
}

export interface CallerHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
}

/** @throws caller_refused */
export function assertCaller(
  { host = '', origin }: CallerHeaders,
  { origins, publicHost }: CallerRules,
): void {
  if (!isOwnHost(hostnameOf(host), publicHost)) {
    throw edgeFaults.caller_refused('This service is not reached under that name'); // H1
  }
  const isOwnPage = origin === `http://${host}` || origin === `https://${host}`;
  if (origin !== undefined && origins !== 'any' && !isOwnPage && !origins.includes(origin)) {
    throw edgeFaults.caller_refused('Pages of that origin may not call this service'); // H2
  }
}

function isOwnHost(hostname: string, publicHost: string): boolean {
  if (hostname === '') return false;
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return true;
  return isIP(hostname) !== 0 || hostname === hostnameOf(publicHost);
}

/** Without the port and the brackets; empty for what is no host. */
function hostnameOf(host: string): string {
  const url = `http://${host}`;
  if (host === '' || !URL.canParse(url)) return '';
  return new URL(url).hostname.replace(/^\[|\]$/g, '');
}
