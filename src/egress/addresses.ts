// Addresses: what kind of network an IP address belongs to. Pure; knows the special blocks of IPv4 and IPv6.
// A1 What cannot be read as an address is not public.
// A2 An IPv6 address that only carries an IPv4 one (mapped, compatible, translated, NAT64, 6to4, ISATAP) is of the kind of
//    that one: the packets end there.

import { isIP } from 'node:net';

export type AddressKind =
  | 'public'
  | 'private'
  | 'loopback'
  | 'link_local'
  /** Where a cloud tells its machines their credentials. */
  | 'metadata'
  /** Between a carrier and its customers (100.64.0.0/10). */
  | 'shared'
  | 'unspecified'
  | 'multicast'
  /** Documentation, benchmarks, tunnels, and all that is not handed out. */
  | 'reserved';

interface Block {
  readonly bytes: readonly number[];
  readonly bits: number;
}
interface KindOfBlock extends Block {
  readonly kind: AddressKind;
}

/** The first block that holds an address counts, so the narrower ones come first. */
const IPV4_BLOCKS: readonly KindOfBlock[] = [
  ...blocks('metadata', ['169.254.169.254/32', '169.254.170.2/32', '169.254.170.23/32']),
  ...blocks('metadata', ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32']),
  ...blocks('unspecified', ['0.0.0.0/8']),
  ...blocks('loopback', ['127.0.0.0/8']),
  ...blocks('private', ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16']),
  ...blocks('shared', ['100.64.0.0/10']),
  ...blocks('link_local', ['169.254.0.0/16']),
  ...blocks('multicast', ['224.0.0.0/4']),
  ...blocks('reserved', ['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '198.18.0.0/15']),
  ...blocks('reserved', ['198.51.100.0/24', '203.0.113.0/24', '240.0.0.0/4']),
];

const IPV6_BLOCKS: readonly KindOfBlock[] = [
  ...blocks('metadata', ['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128']),
  ...blocks('unspecified', ['::/128']),
  ...blocks('loopback', ['::1/128']),
  // The last two: NAT64 inside of a site, and the old site-local addresses.
  ...blocks('private', ['fc00::/7', '64:ff9b:1::/48', 'fec0::/10']),
  ...blocks('link_local', ['fe80::/10']),
  ...blocks('multicast', ['ff00::/8']),
  // 2001::/23 holds Teredo, whose packets end at an address that nobody can read off.
  ...blocks('reserved', ['2001::/23', '2001:db8::/32', '3fff::/20']),
];
const IPV6_PUBLIC = block('2000::/3');

/** Where an IPv6 address of that block carries an IPv4 one. A2. */
const CARRIERS: readonly (Block & { readonly at: number })[] = [
  { ...block('::ffff:0:0/96'), at: 12 },
  { ...block('::ffff:0:0:0/96'), at: 12 },
  { ...block('64:ff9b::/96'), at: 12 },
  { ...block('2002::/16'), at: 2 },
  { ...block('::/96'), at: 12 },
];

export function addressKind(address: string): AddressKind {
  const bytes = bytesOf(address);
  if (bytes === null) return 'reserved'; // A1
  return bytes.length === 4 ? kindOfIpv4(bytes) : kindOfIpv6(bytes);
}

function kindOfIpv4(bytes: readonly number[]): AddressKind {
  return IPV4_BLOCKS.find((one) => holds(one, bytes))?.kind ?? 'public';
}

function kindOfIpv6(bytes: readonly number[]): AddressKind {
  const special = IPV6_BLOCKS.find((one) => holds(one, bytes));
  if (special !== undefined) return special.kind;
  const carrier = CARRIERS.find((one) => holds(one, bytes));
  if (carrier !== undefined) return kindOfIpv4(bytes.slice(carrier.at, carrier.at + 4));
  if (isIsatap(bytes)) return kindOfIpv4(bytes.slice(12));
  return holds(IPV6_PUBLIC, bytes) ? 'public' : 'reserved';
}

/** The interface part says so, whatever network it is in. */
function isIsatap(bytes: readonly number[]): boolean {
  const [first, ...rest] = bytes.slice(8, 12);
  return (first === 0 || first === 2) && rest.join() === '0,94,254';
}

function holds({ bytes: prefix, bits }: Block, bytes: readonly number[]): boolean {
  for (let at = 0; at * 8 < bits; at += 1) {
    const mask = bits - at * 8 >= 8 ? 0xff : 0xff & (0xff << (8 - (bits - at * 8)));
    if (((bytes[at] ?? 0) & mask) !== ((prefix[at] ?? 0) & mask)) return false;
  }
  return true;
}

/** Four bytes or sixteen; null for what is no address. A zone (`fe80::1%eth0`) says only which wire. */
function bytesOf(address: string): readonly number[] | null {
  const bare = address.replace(/%.*$/, '');
  switch (isIP(bare)) {
    case 4:
      return bare.split('.').map(Number);
    case 6:
      return ipv6Bytes(bare);
    default:
      return null;
  }
}

function ipv6Bytes(address: string): readonly number[] {
  const [head = '', tail] = address.split('::');
  const front = groupBytes(head);
  const back = groupBytes(tail ?? '');
  return [...front, ...Array<number>(16 - front.length - back.length).fill(0), ...back];
}

function groupBytes(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

function blocks(kind: AddressKind, texts: readonly string[]): readonly KindOfBlock[] {
  return texts.map((text) => ({ ...block(text), kind }));
}

function block(text: string): Block {
  const [address = '', bits] = text.split('/');
  return { bytes: bytesOf(address) ?? [], bits: Number(bits) };
}
