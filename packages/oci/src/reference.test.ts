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
  ])('reads %s', (text, reference) => {
    expect(parseReference(text)).toEqual(reference);
    expect(parseReference(`oci://${text}`)).toEqual(reference);
    expect(formatReference(parseReference(text))).toBe(text);
  });

  it.each([
    ['catalog:v1', 'does not begin with the host'],
    ['team/catalog:v1', 'does not begin with the host'],
    ['/team/catalog:v1', 'does not begin with the host'],
    ['https://registry.example.com/team/catalog:v1', 'begins with a web address'],
    ['user@r.io/x:1', 'does not begin with the host'],
    ['registry.example.com/Team/x:1', 'has to be lower case'],
    ['registry.example.com/team//x:1', 'is no name of a repository'],
    ['registry.example.com/../x:1', 'is no name of a repository'],
    ['r.io/x', 'neither a tag nor a digest'],
    ['r.io/x:', 'is no tag'],
    ['r.io/x:-1', 'is no tag'],
    [`r.io/x:${'1'.repeat(129)}`, 'is no tag'],
    ['r.io/x@sha256:abc', 'digest'],
    [`r.io/x@sha256:${HEX}@sha256:${HEX}`, 'digest'],
    [`registry.example.com/${'x'.repeat(250)}:1`, 'more than 255 characters'],
    ['r.io/x:1\u001b[31m', 'is no tag'],
    ['', 'does not begin with the host'],
  ])('refuses %j', (text, why) => {
    expect(() => parseReference(text)).toThrowError(
      expect.objectContaining({ code: 'usage', message: expect.stringContaining(why) }),
    );
    expect(() => parseReference(text)).toThrowError(expect.not.stringContaining('\u001b'));
  });
});
