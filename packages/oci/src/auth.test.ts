import { describe, expect, it } from 'vitest';
import {
  buildTokenRequest,
  type Credentials,
  ForeignTokenService,
  readChallenge,
  readToken,
} from './auth.js';

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
    expect(process.cpuUsage(began).user).toBeLessThan(2_500_000);
  });
});

describe('buildTokenRequest', () => {
  const scopes = ['repository:x:pull'];
  const registry = new URL('https://auth.example.com/v2/');
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
      registry,
    });
    expect(url.href).toBe('https://auth.example.com/t?a=b&service=s&scope=repository%3Ax%3Apull');
    expect(authorization).toBe(`Basic ${Buffer.from('u:p:ä').toString('base64')}`);
    expect(
      buildTokenRequest(challenge, { scopes, credentials: undefined, registry }).authorization,
    ).toBeUndefined();
  });

  it('sends an identity token in a form, not in the URL', () => {
    const { url, form } = buildTokenRequest(challenge, {
      scopes,
      credentials: { identityToken: 'secret' },
      registry,
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
    const url = new URL(`${secure ? 'https' : 'http'}://auth.example.com/v2/`);
    expect(() =>
      buildTokenRequest({ ...challenge, realm }, { scopes, credentials: undefined, registry: url }),
    ).toThrowError(expect.objectContaining({ code: 'unreachable' }));
  });

  describe('sends credentials to the host of the registry, and to known and allowed token services', () => {
    const secrets: Credentials[] = [{ username: 'u', password: 'secret' }, { identityToken: 'secret' }];
    const request = (registry: string, realm: string, credentials: Credentials | undefined) =>
      buildTokenRequest({ ...challenge, realm }, { scopes, credentials, registry: new URL(registry) });

    it.each([
      ['https://r.example.com/v2/', 'https://r.example.com/token'],
      ['http://127.0.0.1:5000/v2/', 'http://127.0.0.1:5000/token'],
      ['https://registry-1.docker.io/v2/', 'https://auth.docker.io/token'],
      ['https://registry.gitlab.com/v2/', 'https://gitlab.com/jwt/auth'],
      ['https://r.example.com/v2/', 'https://allowed.example.com/token'],
    ])('%s: sends them to %s', (registry, realm) => {
      for (const secret of secrets) {
        const credentials = { ...secret, tokenServices: ['https://allowed.example.com'] };
        const { authorization, form } = request(registry, realm, credentials);
        expect(authorization ?? form?.get('refresh_token')).toBeDefined();
      }
    });

    it.each([
      ['https://r.example.com/v2/', 'https://other.example.com/token'],
      ['https://r.example.com/v2/', 'https://r.example.com:8443/token'],
      ['https://r.example.com/v2/', 'https://r.example.com.evil.example/token'],
      ['https://r.example.com/v2/', 'https://auth.docker.io/token'],
      ['https://registry-1.docker.io/v2/', 'https://auth.docker.io.evil.example/token'],
      ['https://r.example.com/v2/', 'https://allowed.example.com:444/token'],
      ['http://127.0.0.1:5000/v2/', 'http://127.0.0.1:5001/token'],
      ['http://localhost:5000/v2/', 'http://allowed.example.com/token'],
    ])('%s: sends none to %s', (registry, realm) => {
      for (const secret of secrets) {
        const credentials = { ...secret, tokenServices: ['https://allowed.example.com'] };
        const failed = (): unknown => request(registry, realm, credentials);
        expect(failed).toThrowError(ForeignTokenService);
        expect(failed).toThrowError(expect.objectContaining({ code: 'unauthorized' }));
        expect(failed).not.toThrowError(/secret/);
      }
      expect(request(registry, realm, undefined).authorization).toBeUndefined();
    });
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
