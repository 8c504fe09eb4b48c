import { describe, expect, it } from 'vitest';
import { addressServer, isInsecure, readSourceAddress, type SourceAddress } from './source-address.js';

const SHA = `sha256:${'0f'.repeat(32)}`;

describe('the address of a catalog', () => {
  it.each([
    ['https://banana.co/catalog.yaml', 'https://banana.co/catalog.yaml'],
    ['http://localhost:8080/c.yaml?kind=Catalog', 'http://localhost:8080/c.yaml?kind=Catalog'],
    ['HTTPS://Banana.CO/Catalog.yaml', 'https://banana.co/Catalog.yaml'],
    ['https://banana.co', 'https://banana.co/'],
    ['https://banana.co/a/../b', 'https://banana.co/b'],
    ['https://[2001:db8::1]/c', 'https://[2001:db8::1]/c'],
    ['https://bücher.example/c', 'https://xn--bcher-kva.example/c'],
  ])('%s is one of the web', (text, url) => {
    expect(readSourceAddress(text)).toEqual({ ok: true, address: { type: 'http', url } });
  });

  it('keeps an international host name, also on repeated calls', () => {
    const refused = Array.from({ length: 20_000 }, () =>
      readSourceAddress('https://bücher.example/c'),
    ).filter(({ ok }) => !ok);
    expect(refused).toEqual([]);
  });

  it.each([
    [
      'git::https://github.com/banana/fns.git//catalog.yaml',
      { repository: 'https://github.com/banana/fns.git', path: 'catalog.yaml' },
    ],
    [
      'git::ssh://git@host.example:22/team/fns//a/b.yaml?ref=v1.0.0+build.1',
      { repository: 'ssh://git@host.example:22/team/fns', path: 'a/b.yaml', ref: 'v1.0.0+build.1' },
    ],
    [
      'git::http://host.example/fns//a%20b.yaml?ref=release%2Fv1',
      { repository: 'http://host.example/fns', path: 'a b.yaml', ref: 'release/v1' },
    ],
  ])('%s is a file in a repository', (text, address) => {
    expect(readSourceAddress(text)).toEqual({ ok: true, address: { type: 'git', ...address } });
  });

  it.each([
    'oci://ghcr.io/banana/catalog:v1',
    'oci://localhost/catalog:v1',
    'oci://localhost:5000/a/b:latest',
    `oci://ghcr.io/banana/catalog@${SHA}`,
    `oci://ghcr.io/banana/catalog:v1@${SHA}`,
    'oci://[::1]:5000/catalog:v1',
  ])('%s is an artifact', (text) => {
    const reference = text.slice('oci://'.length);
    expect(readSourceAddress(text)).toEqual({ ok: true, address: { type: 'oci', reference } });
  });

  it.each(['catalogs/banana.yaml', '/srv/banana.yaml', '../banana.yaml'])('file:%s is a file', (path) => {
    expect(readSourceAddress(`file:${path}`)).toEqual({ ok: true, address: { type: 'file', path } });
  });

  it.each([
    ['./banana.yaml', 'banana.yaml'],
    ['banana.yaml', 'banana.yaml'],
    ['Banana.YML', 'Banana.YML'],
    ['catalogs/banana.json', 'catalogs/banana.json'],
    ['./banana.co/catalog', 'banana.co/catalog'],
    ['../banana.yaml', '../banana.yaml'],
  ])('%s is a file, without a word before it', (text, path) => {
    expect(readSourceAddress(text)).toEqual({ ok: true, address: { type: 'file', path } });
  });

  it('says how to write a host, or a path that looks like one', () => {
    expect(readSourceAddress('banana.co/catalog.yaml')).toMatchObject({
      hint: 'Use https://banana.co/catalog.yaml, or ./banana.co/catalog.yaml for a file.',
    });
  });

  it('can be unencrypted, which is reported separately', () => {
    const open = (text: string) => {
      const read = readSourceAddress(text);
      return read.ok && isInsecure(read.address);
    };
    expect(
      [
        'http://a.example/c',
        'git::http://a.example/r//c',
        'HTTP://A.example',
        'http://127.0.0.1.example/',
      ].map(open),
    ).toEqual([true, true, true, true]);
    expect(
      [
        'https://a.example/c',
        'http://localhost:8080/c',
        'http://127.0.0.1/c',
        'http://[::1]/c',
        'git::ssh://git@a.example/r//c',
        'oci://a.example/c:1',
        'file:c',
      ].map(open),
    ).toEqual(new Array(7).fill(false));
  });
});

describe('an invalid address', () => {
  it.each([
    ['nothing', '', 'no scheme'],
    ['a host without a scheme', 'banana.co/catalog.yaml', 'no scheme'],
    ['a host alone', 'banana.co', 'no scheme'],
    ['an absolute path', '/srv/catalog.yaml', 'no scheme'],
    ['a hidden file', '.catalog.yaml', 'no scheme'],
    ['a name with backslashes', 'a\\b.yaml', 'no scheme'],
    ['a folder without a file', './', 'the file is missing'],
    ['another scheme', 'ftp://host/c', '"ftp:" is not a supported scheme'],
    ['a script', 'javascript:alert(1)', 'is not a supported scheme'],
    ['data', 'data:text/yaml,a', 'is not a supported scheme'],
    ['one slash', 'https:/host/c', 'is not a supported scheme'],
    ['no host', 'https://', 'is not a URL'],
    ['a port that is none', 'https://host:99999/c', 'is not a URL'],
    ['a space', 'https://host/a b', 'control character'],
    ['a line end', 'https://host/a\nHost: b', 'control character'],
    ['NUL', 'file:a\0b', 'control character'],
    ['text that runs backwards', 'https://host/\u202elmay.golatac', 'control character'],
    ['a space of no width', 'https://ho\u200bst/', 'control character'],
    ['half of a character', 'https://host/\ud800', 'control character'],
    ['backslashes', 'https://good.example\\@evil.example/', 'is not a URL'],
    ['a user', 'https://user@host/c', 'credentials'],
    ['a password', 'https://user:secret@host/c', 'credentials'],
    ['a token', 'https://host/c?a=1&access_token=secret', 'credentials'],
    ['a signed address', 'https://host/c?X-Amz-Signature=secret', 'credentials'],
    ['a fragment', 'https://host/c#top', 'fragment'],
    ['an empty fragment', 'https://host/c#', 'fragment'],
    ['2,049 characters', `https://host/${'a'.repeat(2_036)}`, 'longer'],
    ['git by another way', 'git::ext::sh -c touch%20x//p', 'control character'],
    ['git that starts a program', 'git::ext::sh//p', 'a git URL must begin with'],
    ['git in a folder', 'git::file:///srv/repository//p', 'a git URL must begin with'],
    ['git without encryption or a word', 'git::git://host/r//p', 'a git URL must begin with'],
    ['git as scp writes it', 'git::git@host:r.git//p', 'a git URL must begin with'],
    ['an option as host', 'git::ssh://-oProxyCommand=x/r//p', 'host'],
    ['an escaped option as host', 'git::ssh://%2doProxyCommand=x/r//p', 'host'],
    ['no host', 'git::ssh:///r//p', 'host'],
    ['an option as user', 'git::ssh://-x@host/r//p', 'user'],
    ['an escaped option as user', 'git::ssh://%2dx@host/r//p', 'user'],
    ['an escaped line end as user', 'git::ssh://a%0ab@host/r//p', 'user'],
    ['a password for git', 'git::ssh://git:secret@host/r//p', 'credentials'],
    ['a user for git', 'git::https://token@host/r//p', 'credentials'],
    ['not a file path', 'git::https://host/r', 'catalog file'],
    ['an empty path', 'git::https://host/r//', 'catalog file'],
    ['no repository', 'git::https://host//p', 'catalog file'],
    [
      'an escaped line end in the repository',
      'git::https://host/r%0ahost=evil//p',
      'the repository is missing',
    ],
    ['a broken escape in the repository', 'git::https://host/r%zz//p', 'the repository is missing'],
    ['a path out of the repository', 'git::https://host/r//a/..%2f..%2fb', 'not a file path'],
    ['an escaped path of dots', 'git::https://host/a/r//%2e%2e/x', 'catalog file'],
    ['the repository itself', 'git::https://host/r//.git/config', 'not a file path'],
    ['the repository in capitals', 'git::https://host/r//a/.GIT/config', 'not a file path'],
    ['an option as path', 'git::https://host/r//--output=x', 'not a file path'],
    ['a pattern as path', 'git::https://host/r//:(glob)x', 'not a file path'],
    ['a line end in the path', 'git::https://host/r//a%0Ab', 'not a file path'],
    ['NUL in the path', 'git::https://host/r//a%00b', 'not a file path'],
    ['a backslash in the path', 'git::https://host/r//a%5Cb', 'not a file path'],
    ['a slash too many', 'git::https://host/r///p', 'not a file path'],
    ['a fragment of git', 'git::https://host/r//p#v1', 'fragment'],
    ['an empty fragment of git', 'git::https://host/r//p#', 'fragment'],
    ['an empty ref', 'git::https://host/r//p?ref=', 'not a valid branch'],
    ['a ref without value', 'git::https://host/r//p?ref', 'not a valid branch'],
    ['two refs', 'git::https://host/r//p?ref=a&ref=b', 'more than one'],
    ['another parameter', 'git::https://host/r//p?ref=a&depth=1', '"depth"'],
    ['an option as ref', 'git::https://host/r//p?ref=--upload-pack=x', 'not a valid branch'],
    ['a forced ref', 'git::https://host/r//p?ref=%2Bmain', 'not a valid branch'],
    ['a refspec', 'git::https://host/r//p?ref=main:refs/heads/x', 'not a valid branch'],
    ['an ancestor', 'git::https://host/r//p?ref=main~1', 'not a valid branch'],
    ['a reflog', 'git::https://host/r//p?ref=main@%7B1%7D', 'not a valid branch'],
    ['an at sign as ref', 'git::https://host/r//p?ref=@', 'not a valid branch'],
    ['dots in a ref', 'git::https://host/r//p?ref=a/../b', 'not a valid branch'],
    ['a hidden part of a ref', 'git::https://host/r//p?ref=a/.b', 'not a valid branch'],
    ['a lock as ref', 'git::https://host/r//p?ref=a.lock', 'not a valid branch'],
    ['a line end in a ref', 'git::https://host/r//p?ref=a%0A', 'not a valid branch'],
    ['a broken escape in a ref', 'git::https://host/r//p?ref=%ff', 'not a valid branch'],
    ['an artifact without host', 'oci://banana/catalog:v1', 'the registry is missing'],
    ['an artifact without repository', 'oci://ghcr.io', 'the registry is missing'],
    ['an artifact with a host alone', 'oci://ghcr.io/', 'empty part'],
    ['an artifact without tag', 'oci://ghcr.io/banana/catalog', 'neither a tag'],
    ['an artifact in capitals', 'oci://ghcr.io/Banana/catalog:v1', 'upper-case'],
    ['an artifact with a short digest', 'oci://ghcr.io/banana/catalog@sha256:0f', 'digest'],
    ['an artifact with another digest', `oci://ghcr.io/banana/catalog@md5:${'0'.repeat(32)}`, 'digest'],
    ['an artifact with credentials', 'oci://user:secret@ghcr.io/banana/catalog:v1', 'credentials'],
    ['an artifact with credentials and digest', `oci://user:secret@ghcr.io/b/c@${SHA}`, 'credentials'],
    ['an artifact with a query', 'oci://ghcr.io/b/c:v1?x=1', 'cannot contain ?'],
    ['an artifact that climbs', 'oci://ghcr.io/../c:v1', 'not a valid path component'],
    ['no file', 'file:', 'the file is missing'],
    ['a file of another machine', 'file://host/share', 'the file is missing'],
  ])('%s is refused', (_, text, reason) => {
    const read = readSourceAddress(text);
    expect(read.ok ? `taken as ${JSON.stringify(read.address)}` : read.reason).toContain(reason);
    expect(JSON.stringify(read)).not.toContain('secret');
  });

  it('is rejected in linear time', () => {
    for (const part of ['/', 'a/', '%', '@', '..', '-', '?ref=a', '&', ':']) {
      for (const start of [
        'https://h/',
        'git::https://h/r//',
        'git::https://h/r//p?ref=',
        'oci://h.x/',
        'file:',
      ]) {
        const begun = process.cpuUsage();
        readSourceAddress(start + part.repeat(2_000 / part.length));
        readSourceAddress(start + part.repeat(1_000_000));
        expect(process.cpuUsage(begun).user).toBeLessThan(1_250_000);
      }
    }
  });
});

describe('the server of an address', () => {
  const http = (url: string): SourceAddress => ({ type: 'http', url });
  const oci = (reference: string): SourceAddress => ({ type: 'oci', reference });

  it('is one for the files and the artifacts of a registry', () => {
    for (const [url, reference] of [
      ['https://Krm.example.com/catalogs/a', 'krm.example.com/catalogs/a:1'],
      ['https://krm.example.com:443/a', 'KRM.example.com:443/a:1'],
      ['http://localhost/a', 'localhost:80/a:1'],
      ['http://127.0.0.1:8080/a', '127.0.0.1:8080/a:1'],
      ['http://[::1]:8080/a', '[::1]:8080/a:1'],
    ] as const)
      expect([url, addressServer(http(url))]).toEqual([url, addressServer(oci(reference))]);
  });

  it('differs by host and port', () => {
    const all = ['https://a.example', 'https://a.example:8443', 'https://b.example', 'https://a.example.org'];
    expect(new Set(all.map((url) => addressServer(http(url)))).size).toBe(all.length);
  });

  it('is none where git has the credentials, and on this machine', () => {
    const repository = { type: 'git' as const, repository: 'https://a.example/r.git', path: 'c.yaml' };
    for (const address of [repository, { type: 'file' as const, path: 'c.yaml' }])
      expect(addressServer(address)).toBeUndefined();
  });
});
