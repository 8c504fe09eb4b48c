import { describe, expect, it } from 'vitest';
import { canonicalPublicUrl, publicAddress, publicUrlProblem, requestTarget } from './public-address.js';

describe('requestTarget', () => {
  const plain = requestTarget({});
  const below = requestTarget({ publicUrl: 'https://example.com/krm/hub' });

  it.each([
    ['/healthz', '/healthz', '/healthz'],
    ['/krm/hub/healthz', '/krm/hub/healthz', '/healthz'],
    ['/krm/hub', '/krm/hub', '/'],
    ['/krm/hub/', '/krm/hub/', '/'],
    ['/krm/hub?a=b', '/krm/hub?a=b', '/?a=b'],
    ['/krm/hubs/x', '/krm/hubs/x', '/krm/hubs/x'],
    ['/krm', '/krm', '/krm'],
    ['/x/krm/hub/healthz', '/x/krm/hub/healthz', '/x/krm/hub/healthz'],
    ['/krm/hub/krm/hub/healthz', '/krm/hub/krm/hub/healthz', '/krm/hub/healthz'],
    ['/krm/hub/%2e%2e/healthz', '/krm/hub/%2e%2e/healthz', '/%2e%2e/healthz'],
    ['http://evil.example/krm/hub/healthz', '/krm/hub/healthz', '/healthz'],
    ['HTTPS://u:p@evil.example:1/healthz', '/healthz', '/healthz'],
    ['http://evil.example', '/', '/'],
    ['http://evil.example?a=/b', '/?a=/b', '/?a=/b'],
    ['//evil.example/healthz', '//evil.example/healthz', '//evil.example/healthz'],
    ['*', '*', '*'],
    ['healthz', 'healthz', 'healthz'],
    ['ftp://x/healthz', 'ftp://x/healthz', 'ftp://x/healthz'],
  ])('reads %s as %s, and below a public path as %s', (sent, target, targetBelow) => {
    expect(plain(sent)).toBe(target);
    expect(below(sent)).toBe(targetBelow);
  });
});

describe('a public URL', () => {
  it.each(['https://example.com', 'http://10.0.0.1:8080/', 'https://[::1]/a/b-c_d.e~f/'])(
    'accepts %s',
    (url) => {
      expect(publicUrlProblem(url)).toBeUndefined();
    },
  );

  it.each(['example.com', 'ftp://x', 'https://u@x', 'https://x/?a', 'https://x/api', 'https://x/a%20b'])(
    'rejects %s',
    (url) => {
      expect(publicUrlProblem(url)).toBeDefined();
    },
  );

  it('is the prefix of every address, without a second slash', () => {
    const publicUrl = canonicalPublicUrl('https://example.com/krm/');
    expect(publicAddress({ publicUrl }, '/api/v1/tokens')).toBe('https://example.com/krm/api/v1/tokens');
    expect(publicAddress({}, '/api/v1/tokens')).toBe('/api/v1/tokens');
  });
});
