import type { LookupAddress } from 'node:dns';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { AddressGuard, invalidRanges } from './address-guard.js';
import { SourceFailure } from './failure.js';

const guard = new AddressGuard([]);

const INTERNAL = [
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'this network'],
  ['10.0.0.1', 'private'],
  ['100.64.0.1', 'carrier-grade NAT'],
  ['100.127.255.255', 'carrier-grade NAT'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['168.63.129.16', 'platform of a cloud'],
  ['169.254.169.254', 'metadata'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.192', 'metadata of a cloud'],
  ['192.0.2.1', 'documentation'],
  ['192.168.1.1', 'private'],
  ['198.18.0.1', 'benchmarks'],
  ['198.19.255.255', 'benchmarks'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.250', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::7f00:1', 'IPv4-compatible'],
  ['::ffff:127.0.0.1', 'mapped loopback'],
  ['::ffff:a9fe:a9fe', 'mapped metadata'],
  ['0:0:0:0:0:ffff:10.0.0.1', 'mapped private, written out'],
  ['64:ff9b::a9fe:a9fe', 'metadata behind NAT64'],
  ['64:ff9b::10.1.2.3', 'private behind NAT64'],
  ['64:ff9b:1::1', 'local NAT64'],
  ['2002:7f00:1::', 'loopback by 6to4'],
  ['2002:a9fe:a9fe::1', 'metadata by 6to4'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
  ['2001:2::1', 'benchmarks'],
  ['2001:db8::1', 'documentation'],
  ['3fff::1', 'documentation'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'metadata by IPv6'],
  ['fe80::1', 'link-local'],
  ['fe80::1%eth0', 'link-local with a zone'],
  ['fec0::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['100::1', 'discard'],
  ['', 'nothing'],
  ['localhost', 'a name'],
] as const;

describe('AddressGuard', () => {
  it.each(INTERNAL)('refuses %s (%s)', (address) => {
    expect(guard.allows(address)).toBe(false);
  });

  it.each([
    '1.1.1.1',
    '100.63.255.255',
    '172.32.0.1',
    '198.20.0.1',
    '2606:4700:4700::1111',
    '::ffff:1.1.1.1',
    '64:ff9b::101:101',
  ])('lets %s be asked', (address) => {
    expect(guard.allows(address)).toBe(true);
  });

  it('allows the configured addresses in every notation, and no others', () => {
    const own = new AddressGuard(['10.1.0.0/16', '127.0.0.1', 'fd12::/16', '2002::/16']);
    for (const address of [
      '10.1.255.1',
      '::ffff:10.1.2.3',
      '127.0.0.1',
      '::ffff:7f00:1',
      'fd12::1',
      '2002::1',
    ]) {
      expect([address, own.allows(address)]).toEqual([address, true]);
    }
    for (const address of ['10.2.0.1', '127.0.0.2', '::1', 'fd13::1', '169.254.169.254']) {
      expect([address, own.allows(address)]).toEqual([address, false]);
    }
  });

  describe('as-named', () => {
    const names: Record<string, LookupAddress[]> = {
      'public.example': [{ address: '1.1.1.1', family: 4 }],
      'private.example': [{ address: '10.0.0.1', family: 4 }],
      'mixed.example': [
        { address: '10.0.0.1', family: 4 },
        { address: '1.1.1.1', family: 4 },
      ],
    };
    const started = () => new AddressGuard('as-named', async (name) => names[name]!);
    const refused = { problem: 'forbidden-address', hint: expect.stringContaining('use its URL directly') };

    it('starts at the host of the document that names an address', async () => {
      for (const host of ['public.example', 'mixed.example', 'unknown.example', '1.1.1.1']) {
        const own = new AddressGuard('as-named', async (name) => {
          if (names[name] === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
          return names[name];
        });
        await own.startAt(host);
        const hint = expect.stringContaining('copy it to this machine');
        await expect(own.resolve('private.example')).rejects.toMatchObject({ ...refused, hint });
        expect(() => own.checkHost('127.0.0.1')).toThrow(SourceFailure);
        await expect(own.resolve('public.example')).resolves.toHaveLength(1);
      }
      for (const host of ['private.example', '127.0.0.1', '[::1]']) {
        const own = started();
        await own.startAt(host);
        await expect(own.resolve('private.example')).resolves.toHaveLength(1);
      }
      const proxied = started();
      await proxied.startAt('private.example', { isProxied: true });
      expect(() => proxied.checkHost('10.0.0.1')).toThrow(SourceFailure);
    });

    it('leaves names to a proxy, and no private address', async () => {
      const own = started();
      own.checkProxied('unknown.example');
      own.checkProxied('private.example');
      expect(() => own.checkProxied('10.0.0.1')).toThrow(SourceFailure);
      // What is connected to without the proxy is checked as ever.
      await expect(own.resolve('private.example')).rejects.toMatchObject(refused);
    });

    it('lets a private host lead anywhere', async () => {
      for (const first of ['127.0.0.1', '[::1]', '10.0.0.1']) {
        const own = started();
        own.checkHost(first);
        own.checkHost('169.254.169.254');
        await expect(own.resolve('private.example')).resolves.toHaveLength(1);
      }
      const own = started();
      await own.resolve('private.example');
      expect(() => own.checkHost('192.168.0.1')).not.toThrow();
    });

    it('lets no public host lead to a private one', async () => {
      const byName = started();
      await byName.resolve('public.example');
      const byAddress = started();
      byAddress.checkHost('1.1.1.1');
      for (const own of [byName, byAddress]) {
        for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', '[::ffff:10.0.0.1]']) {
          expect(() => own.checkHost(host)).toThrow(expect.objectContaining(refused));
        }
        await expect(own.resolve('private.example')).rejects.toMatchObject(refused);
        await expect(own.resolve('public.example')).resolves.toHaveLength(1);
      }
    });

    it('stays with the public addresses of a name, also when it is resolved again', async () => {
      const own = started();
      await expect(own.resolve('mixed.example')).resolves.toEqual([{ address: '1.1.1.1', family: 4 }]);
      names['rebound.example'] = [{ address: '1.1.1.1', family: 4 }];
      const rebound = started();
      await rebound.resolve('rebound.example');
      names['rebound.example'] = [{ address: '127.0.0.1', family: 4 }];
      await expect(rebound.resolve('rebound.example')).rejects.toMatchObject(refused);
    });
  });

  it('reports invalid ranges', () => {
    expect(
      invalidRanges([
        '10.0.0.0/8',
        '::1',
        '10.0.0.0/33',
        'fe80::/129',
        'host',
        '',
        '10.0.0.0/',
        '10.0.0.0/8/8',
        'fe80::1%eth0',
      ]),
    ).toEqual(['10.0.0.0/33', 'fe80::/129', 'host', '', '10.0.0.0/', '10.0.0.0/8/8', 'fe80::1%eth0']);
    expect(() => new AddressGuard(['host'])).toThrow(RangeError);
  });

  it('checks hosts that are literal addresses', () => {
    expect(() => guard.checkHost('169.254.169.254')).toThrow(SourceFailure);
    expect(() => guard.checkHost('[::1]')).toThrow('[::1] is not an address of the public Internet');
    expect(() => guard.checkHost('1.1.1.1')).not.toThrow();
    expect(() => guard.checkHost('vendor.example')).not.toThrow();
  });

  it('connects to the allowed addresses of a name only', async () => {
    const answers: Record<string, LookupAddress[]> = {
      'mixed.example': [
        { address: '10.0.0.1', family: 4 },
        { address: '1.1.1.1', family: 4 },
        { address: '::1', family: 6 },
      ],
      'inside.example': [{ address: '10.0.0.1', family: 4 }],
      'nowhere.example': [],
    };
    const own = new AddressGuard([], async (name) => answers[name]!);
    await expect(own.resolve('mixed.example')).resolves.toEqual([{ address: '1.1.1.1', family: 4 }]);
    await expect(own.resolve('inside.example')).rejects.toMatchObject({
      problem: 'forbidden-address',
      message: 'inside.example (10.0.0.1) is not an address of the public Internet',
    });
    await expect(own.resolve('nowhere.example')).rejects.toMatchObject({ code: 'ENOTFOUND' });
    const lookup = promisify(own.lookup) as (name: string, options: object) => Promise<unknown>;
    await expect(lookup('mixed.example', { all: true })).resolves.toEqual([
      { address: '1.1.1.1', family: 4 },
    ]);
    await expect(lookup('mixed.example', {})).resolves.toBe('1.1.1.1');
    await expect(lookup('mixed.example', { family: 6 })).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(lookup('inside.example', { all: true })).rejects.toMatchObject({
      problem: 'forbidden-address',
    });
  });
});
