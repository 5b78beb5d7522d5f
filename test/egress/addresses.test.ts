// Addresses: special blocks in every form in which they can be written or wrapped.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type AddressKind, addressKind } from '../../src/egress/addresses.ts';

type Four = readonly [number, number, number, number];

const byte = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.tuple(byte, byte, byte, byte);
const dotted = (four: Four): string => four.join('.');
const hex = (high: number, low: number): string => ((high << 8) | low).toString(16);

/** Every IPv6 address that only carries this IPv4 one. */
const wrapped = ([a, b, c, d]: Four): readonly string[] => [
  `::ffff:${a}.${b}.${c}.${d}`,
  `::ffff:${hex(a, b)}:${hex(c, d)}`,
  `0:0:0:0:0:FFFF:${hex(a, b)}:${hex(c, d)}`,
  `::ffff:0:${hex(a, b)}:${hex(c, d)}`,
  `64:ff9b::${a}.${b}.${c}.${d}`,
  `2002:${hex(a, b)}:${hex(c, d)}::1`,
  `2001:4860::5efe:${hex(a, b)}:${hex(c, d)}`,
];

/** Every way in which a URL may spell this IPv4 address. */
const spelled = ([a, b, c, d]: Four): readonly string[] => {
  const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  return [
    `${a}.${b}.${c}.${d}`,
    String(whole),
    `0x${whole.toString(16)}`,
    `0${a.toString(8)}.0${b.toString(8)}.0${c.toString(8)}.0${d.toString(8)}`,
    `0x${a.toString(16)}.${b}.${(c << 8) | d}`,
    `${a}.${b}.${c}.${d}.`,
  ];
};

const inside = (kind: AddressKind, ...blocks: readonly fc.Arbitrary<Four>[]) => ({ kind, blocks });
const from = (...firsts: readonly number[]): fc.Arbitrary<Four> =>
  ipv4.map((four) => four.map((own, at) => firsts[at] ?? own) as unknown as Four);

const SPECIAL = [
  inside('loopback', from(127)),
  inside(
    'private',
    from(10),
    from(192, 168),
    fc.integer({ min: 16, max: 31 }).chain((b) => from(172, b)),
  ),
  inside(
    'shared',
    fc.integer({ min: 64, max: 99 }).chain((b) => from(100, b)),
  ),
  inside(
    'link_local',
    fc.integer({ min: 0, max: 168 }).chain((c) => from(169, 254, c)),
  ),
  inside('metadata', from(169, 254, 169, 254), from(169, 254, 170, 2), from(100, 100, 100, 200)),
  inside('unspecified', from(0)),
  inside(
    'multicast',
    fc.integer({ min: 224, max: 239 }).chain((a) => from(a)),
  ),
  inside(
    'reserved',
    fc.integer({ min: 240, max: 255 }).chain((a) => from(a)),
    from(203, 0, 113),
    from(198, 18),
  ),
];

describe.each(SPECIAL)('an address that is $kind', ({ kind, blocks }) => {
  test('is known by its number, and inside of every IPv6 address that carries it', () => {
    fc.assert(
      fc.property(fc.oneof(...blocks), (four) => {
        expect(addressKind(dotted(four))).toBe(kind);
        for (const address of wrapped(four)) expect([address, addressKind(address)]).toEqual([address, kind]);
      }),
    );
  });

  test('is known however a URL spells it', () => {
    fc.assert(
      fc.property(fc.oneof(...blocks), (four) => {
        for (const host of spelled(four)) expect(addressKind(new URL(`http://${host}/`).hostname)).toBe(kind);
      }),
    );
  });
});

test.each([
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['0:0:0:0:0:0:0:1', 'loopback'],
  ['fe80::1%eth0', 'link_local'],
  ['febf:ffff::1', 'link_local'],
  ['fec0::1', 'private'],
  ['fd12:3456::1', 'private'],
  ['fc00::', 'private'],
  ['64:ff9b:1::a00:1', 'private'],
  ['fd00:ec2::254', 'metadata'],
  ['fd20:ce::254', 'metadata'],
  ['ff02::1', 'multicast'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'reserved'],
  ['2001:db8::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['::7f00:1', 'loopback'],
  ['2606:4700:4700::1111', 'public'],
  ['2001:4860:4860::8888', 'public'],
  ['8.8.8.8', 'public'],
  ['172.32.0.1', 'public'],
  ['100.128.0.1', 'public'],
  ['::ffff:8.8.8.8', 'public'],
  ['2002:808:808::1', 'public'],
] as const)('%s is %s', (address, kind) => {
  expect(addressKind(address)).toBe(kind);
});

test('what is no address is not public', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(addressKind(`x${text}`)).toBe('reserved');
    }),
  );
  for (const text of ['', 'localhost', '1.2.3', '1.2.3.4.5', '256.1.1.1', '::1::', '[::1]']) {
    expect(addressKind(text)).toBe('reserved');
  }
});

test('no address makes it fail', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (address) => {
      expect(addressKind(address)).toMatch(/^[a-z_]+$/);
    }),
  );
});
