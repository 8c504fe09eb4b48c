import { describe, expect, it } from 'vitest';
import { formatReference, parseReference } from './reference.js';

const HEX = 'a'.repeat(64);

describe('parseReference', () => {
  it.each([
    [
      'registry.example.com/team/catalog:v1',
      { registry: 'registry.example.com', repository: 'team/catalog', tag: 'v1' },
    ],
    ['localhost/x:1', { registry: 'localhost', repository: 'x', tag: '1' }],
    ['localhost:5000/x/y__z:A.b-C_1', { registry: 'localhost:5000', repository: 'x/y__z', tag: 'A.b-C_1' }],
    [`[::1]:5000/x@sha256:${HEX}`, { registry: '[::1]:5000', repository: 'x', digest: `sha256:${HEX}` }],
    [
      `r.io/x:1@sha512:${HEX}${HEX}`,
      { registry: 'r.io', repository: 'x', tag: '1', digest: `sha512:${HEX}${HEX}` },
    ],
  ])('parses %s', (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
    expect(parseReference(`oci://${text}`)).toEqual(reference);
    expect(formatReference(parseReference(text))).toBe(text);
  });

  it.each([
    ['catalog:v1', 'does not start with a registry host'],
    ['team/catalog:v1', 'does not start with a registry host'],
    ['/team/catalog:v1', 'does not start with a registry host'],
    ['https://registry.example.com/team/catalog:v1', 'starts with http: or https:'],
    ['user@r.io/x:1', 'does not start with a registry host'],
    ['registry.example.com/Team/x:1', 'must be lower case'],
    ['registry.example.com/team//x:1', 'is not a valid repository name'],
    ['registry.example.com/../x:1', 'is not a valid repository name'],
    ['r.io/x', 'neither a tag nor a digest'],
    ['r.io/x:', 'is not a valid tag'],
    ['r.io/x:-1', 'is not a valid tag'],
    [`r.io/x:${'1'.repeat(129)}`, 'is not a valid tag'],
    ['r.io/x@sha256:abc', 'digest'],
    [`r.io/x@sha256:${HEX}@sha256:${HEX}`, 'digest'],
    [`registry.example.com/${'x'.repeat(250)}:1`, 'more than 255 characters'],
    ['r.io/x:1\u001b[31m', 'is not a valid tag'],
    ['', 'does not start with a registry host'],
  ])('rejects %j', (text, why) => {
    expect(() => parseReference(text)).toThrowError(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining(why) }),
    );
    expect(() => parseReference(text)).toThrowError(expect.not.stringContaining('\u001b'));
  });
});
