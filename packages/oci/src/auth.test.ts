import { describe, expect, it } from 'vitest';
import { buildTokenRequest, readChallenge, readToken } from './auth.js';

describe('readChallenge', () => {
  it.each([
    ['Basic realm="x"', { scheme: 'basic' }],
    [
      'Bearer realm="https://a/t",service="s",scope="repository:x:pull,push"',
      { scheme: 'bearer', realm: 'https://a/t', service: 's', scope: 'repository:x:pull,push' },
    ],
    [
      'bearer realm=https://a/t',
      { scheme: 'bearer', realm: 'https://a/t', service: undefined, scope: undefined },
    ],
    [
      'Basic realm="x", Bearer realm="https://a/t"',
      { scheme: 'bearer', realm: 'https://a/t', service: undefined, scope: undefined },
    ],
    ['Bearer realm="a\\"b"', { scheme: 'bearer', realm: 'a"b', service: undefined, scope: undefined }],
    ['Negotiate', undefined],
    ['Bearer service="s"', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('reads %j', (header, challenge) => {
    expect(readChallenge(header)).toEqual(challenge);
  });

  it('parses a hostile header in linear time', () => {
    const began = process.cpuUsage();
    readChallenge(`Bearer ${'a="\\'.repeat(2_000)}`);
    readChallenge(`${'Bearer '.repeat(2_000)}`);
    expect(process.cpuUsage(began).user).toBeLessThan(500_000);
  });
});

describe('buildTokenRequest', () => {
  const scopes = ['repository:x:pull'];
  const challenge = {
    scheme: 'bearer',
    realm: 'https://auth.example.com/t?a=b',
    service: 's',
    scope: undefined,
  } as const;

  it('uses basic authentication, or none', () => {
    const { url, authorization } = buildTokenRequest(challenge, {
      scopes,
      credentials: { username: 'u', password: 'p:ä' },
      secure: true,
    });
    expect(url.href).toBe('https://auth.example.com/t?a=b&service=s&scope=repository%3Ax%3Apull');
    expect(authorization).toBe(`Basic ${Buffer.from('u:p:ä').toString('base64')}`);
    expect(
      buildTokenRequest(challenge, { scopes, credentials: undefined, secure: true }).authorization,
    ).toBeUndefined();
  });

  it('sends an identity token in a form, not in the URL', () => {
    const { url, form } = buildTokenRequest(challenge, {
      scopes,
      credentials: { identityToken: 'secret' },
      secure: true,
    });
    expect(form?.get('refresh_token')).toBe('secret');
    expect(url.href).not.toContain('secret');
  });

  it.each([
    ['http://auth.example.com/t', true],
    ['ftp://auth.example.com/t', false],
    ['https://u:p@auth.example.com/t', true],
    ['/token', true],
  ])('rejects the realm %s', (realm, secure) => {
    expect(() =>
      buildTokenRequest({ ...challenge, realm }, { scopes, credentials: undefined, secure }),
    ).toThrowError(expect.objectContaining({ code: 'unreachable' }));
  });
});

describe('readToken', () => {
  it('accepts token and access_token', () => {
    expect(readToken('{"token":"a","expires_in":300}')).toEqual({ token: 'a', milliseconds: 300_000 });
    expect(readToken('{"access_token":"b"}')).toEqual({ token: 'b', milliseconds: 60_000 });
  });

  it.each(['', '[]', 'null', '{"token":1}', '{"token":"a\\r\\nX: y"}', '{"token":""}'])(
    'refuses %j',
    (text) => {
      expect(() => readToken(text)).toThrowError(expect.objectContaining({ code: 'unreachable' }));
    },
  );
});
