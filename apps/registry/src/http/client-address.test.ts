import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import {
  clientAddress,
  clientAddresses,
  insideAddresses,
  rateLimitKey,
  readTrustedProxies,
} from './client-address.js';

function requestFrom(remoteAddress: string | undefined, forwarded?: string, host?: string): IncomingMessage {
  const socket = new Socket();
  Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
  const request = new IncomingMessage(socket);
  if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded;
  if (host !== undefined) request.headers.host = host;
  return request;
}

describe('clientAddress', () => {
  const { proxies, problems } = readTrustedProxies(['10.0.0.0/8', '::1', 'fd00::/8', '192.0.2.7']);
  const { proxies: none } = readTrustedProxies([]);

  it('reads addresses and ranges of both families', () => {
    expect(problems).toEqual([]);
    expect(['10.255.0.1', '::1', 'fdab::1', '192.0.2.7'].map((one) => proxies.includes(one))).toEqual(
      Array(4).fill(true),
    );
    expect(['11.0.0.1', '::2', 'fe80::1', '192.0.2.8', 'x', ''].map((one) => proxies.includes(one))).toEqual(
      Array(6).fill(false),
    );
    expect(readTrustedProxies(['', '10.0.0.0/', '1.2.3', '::1/129', '10.0.0.1/x']).problems).toHaveLength(5);
  });

  it.each([
    // A client that is not a trusted proxy is not believed.
    ['198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['198.51.100.1', undefined, '198.51.100.1'],
    ['::ffff:198.51.100.1', '203.0.113.9', '198.51.100.1'],
    // A trusted proxy is believed, but not the entries that its client wrote.
    ['10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '192.0.2.200, 203.0.113.9', '203.0.113.9'],
    ['10.0.0.1', '203.0.113.9, 10.1.1.1', '203.0.113.9'],
    ['10.0.0.1', '6.6.6.6, 203.0.113.9 ,10.1.1.1,fd00::5', '203.0.113.9'],
    ['10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['10.0.0.1', '[2001:db8::9]:4711', '2001:db8::9'],
    ['::1', '2001:db8::9', '2001:db8::9'],
    ['10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    // Only proxies on the path: the farthest counts.
    ['10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    // An invalid address ends the list: the last known one counts.
    ['10.0.0.1', 'unknown', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9, nonsense, 10.0.0.2', '10.0.0.2'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '203.0.113.9,', '10.0.0.1'],
    ['fe80::1%eth0', undefined, 'fe80::1'],
    [undefined, '203.0.113.9', 'unknown'],
  ])('from %s with %j is %s', (remote, forwarded, client) => {
    expect(clientAddress(requestFrom(remote, forwarded), proxies)).toBe(client);
  });

  it('ignores X-Forwarded-For if no proxy is trusted', () => {
    expect(clientAddress(requestFrom('10.0.0.1', '203.0.113.9'), none)).toBe('10.0.0.1');
    expect(clientAddress(undefined, none)).toBe('unknown');
  });

  it('ignores Forwarded, which a proxy may pass through', () => {
    const request = requestFrom('10.0.0.1');
    request.headers.forwarded = 'for=203.0.113.9';
    expect(clientAddress(request, proxies)).toBe('10.0.0.1');
  });
});

describe('clientAddresses', () => {
  const logged: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => logged.push(line) });

  it('warns once if a trusted proxy seems to be missing', () => {
    const { proxies } = readTrustedProxies(['10.0.0.0/8']);
    const clientOf = clientAddresses(proxies, log);
    expect(clientOf(requestFrom('10.0.0.1', '203.0.113.9'))).toBe('203.0.113.9');
    expect(clientOf(requestFrom('198.51.100.1', '203.0.113.9'))).toBe('198.51.100.1');
    expect(clientOf(requestFrom('192.168.0.1'))).toBe('192.168.0.1');
    expect(logged).toEqual([]);
    for (const count of [1, 2]) {
      expect(clientOf(requestFrom('::ffff:192.168.0.1', `203.0.113.${count}`))).toBe('192.168.0.1');
    }
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain('"proxy":"192.168.0.1"');
    expect(logged[0]).toContain('KRMHUB_TRUSTED_PROXIES');
  });
});

describe('rateLimitKey', () => {
  it.each([
    ['203.0.113.9', '203.0.113.9'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:ffff::1', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
    ['64:ff9b::192.0.2.33', '64:ff9b:0:0::/64'],
    ['unknown', 'unknown'],
  ])('maps %s to %s', (address, key) => {
    expect(rateLimitKey(address)).toBe(key);
  });
});

describe('insideAddresses', () => {
  const isInside = insideAddresses({
    internalAddresses: ['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8:7::/48'],
    trustedProxies: ['10.9.0.1', '::1', '2001:db8:7::1'],
    publicUrl: 'https://krmhub.example.com:8443/at',
  });
  const HOST = 'krmhub.example.com';

  it.each([
    ['10.1.2.3', undefined, true],
    ['::ffff:10.1.2.3', undefined, true],
    ['::ffff:a01:203', undefined, true],
    ['192.0.2.7', undefined, true],
    ['fd12::5%eth0', undefined, true],
    ['2001:db8:7:8::9', undefined, true],
    ['11.0.0.1', undefined, false],
    ['192.0.2.8', undefined, false],
    ['::ffff:192.0.2.8', undefined, false],
    ['2001:db8:8::9', undefined, false],
    ['::', undefined, false],
    [undefined, undefined, false],
    // Of a trusted proxy, the client counts, and not what the client wrote.
    ['10.9.0.1', '10.1.2.3', true],
    ['::1', 'fd12::5', true],
    ['::1', '[2001:db8:7:8::9]:4711', true],
    ['10.9.0.1', '203.0.113.9', false],
    ['10.9.0.1', '10.1.2.3, 203.0.113.9', false],
    ['10.9.0.1', '203.0.113.9, 10.1.2.3', true],
    // The proxy itself is no client.
    ['10.9.0.1', undefined, false],
    ['10.9.0.1', 'unknown', false],
    ['10.9.0.1', '', false],
    ['10.9.0.1', '10.9.0.1', false],
    // An internal address that forwards is a proxy which is missing from the trusted ones.
    ['10.1.2.3', '203.0.113.9', false],
    ['10.1.2.3', '10.1.2.4', false],
    // Others cannot claim to be inside.
    ['203.0.113.9', '10.1.2.3', false],
    ['203.0.113.9', '::ffff:10.1.2.3', false],
  ])('from %s with %j: %s', (remote, forwarded, expected) => {
    expect(isInside(requestFrom(remote, forwarded, HOST))).toBe(expected);
  });

  it.each(['via', 'forwarded', 'x-real-ip', 'x-forwarded-proto', 'true-client-ip'])(
    'not through a proxy with %s',
    (name) => {
      const request = requestFrom('10.1.2.3', undefined, HOST);
      expect(isInside(request)).toBe(true);
      request.headers[name] = '10.1.2.3';
      expect(isInside(request)).toBe(false);
    },
  );

  // With a name, whether directly, by a trusted proxy, and directly without a public URL.
  it.each([
    [HOST, true, true, false],
    ['KRMHUB.example.com.:80', true, true, false],
    ['10.0.0.5:8080', true, false, true],
    ['[fd00::5]:8080', true, false, true],
    ['localhost:8080', true, false, true],
    ['krmhub', true, false, true],
    ['krmhub.krmhub.svc.cluster.local', true, false, true],
    ['registry.internal:443', true, false, true],
    ['rebound.example.net', false, false, false],
    ['rebound.example.net:8080', false, false, false],
    ['krmhub.example.com.example.net', false, false, false],
    ['10.0.0.5.example.net', false, false, false],
    ['local', true, false, true],
    ['x.notlocal', false, false, false],
    ['10.0.0.5@example.net', false, false, false],
    ['', false, false, false],
    [undefined, false, false, false],
  ])('by the name %s: %s, %s, %s', (host, direct, proxied, unnamed) => {
    expect(isInside(requestFrom('10.1.2.3', undefined, host))).toBe(direct);
    expect(isInside(requestFrom('10.9.0.1', '10.1.2.3', host))).toBe(proxied);
    const withoutUrl = insideAddresses({ internalAddresses: ['10.0.0.0/8'] });
    expect(withoutUrl(requestFrom('10.1.2.3', undefined, host))).toBe(unnamed);
  });

  it('is nowhere without the setting', () => {
    expect(insideAddresses({})(requestFrom('127.0.0.1'))).toBe(false);
  });
});
