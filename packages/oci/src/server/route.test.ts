import { describe, expect, it } from 'vitest';
import { OCI_METHODS, parseOciPath } from './route.js';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const LONG = `sha512:${'b'.repeat(128)}`;
const ID = '01234567-89ab-cdef-0123-456789abcdef';

describe('parseOciPath', () => {
  it.each<[string, object]>([
    ['', { what: 'base' }],
    ['/', { what: 'base' }],
    ['/token', { what: 'token' }],
    ['/_catalog', { what: 'repositories' }],
    ['/a/tags/list', { what: 'tags', repository: 'a' }],
    ['/a/b/c/tags/list', { what: 'tags', repository: 'a/b/c' }],
    ['/tags/list/tags/list', { what: 'tags', repository: 'tags/list' }],
    ['/a/manifests/v1', { what: 'manifest', repository: 'a', reference: 'v1' }],
    [`/a/manifests/${DIGEST}`, { what: 'manifest', repository: 'a', reference: DIGEST }],
    [`/a/manifests/${LONG}`, { what: 'manifest', repository: 'a', reference: LONG }],
    ['/a/manifests/b/manifests/v1', { what: 'manifest', repository: 'a/manifests/b', reference: 'v1' }],
    ['/a/blobs/manifests/v1', { what: 'manifest', repository: 'a/blobs', reference: 'v1' }],
    ['/a/manifests/.x', { what: 'manifest', repository: 'a', reference: '.x' }],
    ['/a/manifests/%41', { what: 'manifest', repository: 'a', reference: '%41' }],
    [`/a/blobs/${DIGEST}`, { what: 'blob', repository: 'a', digest: DIGEST }],
    ['/a/blobs/uploads', { what: 'uploads', repository: 'a' }],
    ['/a/blobs/uploads/', { what: 'uploads', repository: 'a' }],
    [`/a/blobs/uploads/${ID}`, { what: 'upload', repository: 'a', id: ID }],
    ['/a/blobs/uploads/blobs/uploads/', { what: 'uploads', repository: 'a/blobs/uploads' }],
    [`/a/referrers/${DIGEST}`, { what: 'referrers', repository: 'a', digest: DIGEST }],
  ])('parses %s', (path, route) => {
    expect(parseOciPath(path)).toEqual(route);
  });

  it.each([
    '/a',
    '/token/',
    '/_catalog/',
    '/a/tags',
    '/a/tags/list/',
    '/a/tags/lists',
    '/a/manifests/',
    '/a/manifests/v1/',
    '/a/blobs/',
    '/a/referrers/',
    '/a/Manifests/v1',
    '/a\n/tags/list',
  ])('returns undefined for %s', (path) => {
    expect(parseOciPath(path)).toBeUndefined();
  });

  it.each([
    ['/A/tags/list', 'NAME_INVALID'],
    ['//tags/list', 'NAME_INVALID'],
    ['/tags/list', 'NAME_INVALID'],
    ['/a//b/tags/list', 'NAME_INVALID'],
    ['/a%2Fb/tags/list', 'NAME_INVALID'],
    ['/../tags/list', 'NAME_INVALID'],
    ['/a/./b/tags/list', 'NAME_INVALID'],
    ['/a..b/tags/list', 'NAME_INVALID'],
    ['/a___b/tags/list', 'NAME_INVALID'],
    ['/a\0/tags/list', 'NAME_INVALID'],
    [`/${'a'.repeat(256)}/tags/list`, 'NAME_INVALID'],
    ['/a/blobs/x', 'DIGEST_INVALID'],
    [`/a/blobs/${DIGEST.toUpperCase()}`, 'DIGEST_INVALID'],
    [`/a/blobs/${DIGEST}0`, 'DIGEST_INVALID'],
    [`/a/referrers/${DIGEST.slice(0, -1)}`, 'DIGEST_INVALID'],
    ['/a/manifests/sha256:x', 'DIGEST_INVALID'],
    ['/a/manifests/v1:x', 'DIGEST_INVALID'],
    ['/a/blobs/uploads/x', 'BLOB_UPLOAD_UNKNOWN'],
    [`/a/blobs/uploads/${ID.toUpperCase()}`, 'BLOB_UPLOAD_UNKNOWN'],
    ['/a/blobs/uploads/..', 'BLOB_UPLOAD_UNKNOWN'],
  ])('rejects %j with %s', (path, code) => {
    expect(() => parseOciPath(path)).toThrow(expect.objectContaining({ code }));
  });

  it('parses a hostile path in linear time', () => {
    const began = process.cpuUsage();
    for (const part of ['/blobs/uploads', '/manifests', 'a_', '-', '/tags/list/', '/a'])
      expect(() => parseOciPath(`/${part.repeat(16_000 / part.length)}/manifests/x`)).toThrow();
    expect(process.cpuUsage(began).user).toBeLessThan(5_000_000);
  });

  it('has methods for every route, and HEAD with GET', () => {
    for (const methods of Object.values(OCI_METHODS))
      expect(methods.includes('HEAD')).toBe(methods.includes('GET'));
  });
});
