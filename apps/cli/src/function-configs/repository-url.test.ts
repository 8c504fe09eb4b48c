import { describe, expect, it } from 'vitest';
import { parseRepositoryUrl } from './repository-url.js';

describe('the URL of a repository', () => {
  it.each([
    ['https://github.com/org/repo', 'https://github.com/org/repo', '', undefined],
    ['https://github.com/org/repo/a/b?ref=v1', 'https://github.com/org/repo', 'a/b', 'v1'],
    ['https://github.com/org/repo//a/b?ref=v1.2', 'https://github.com/org/repo', 'a/b', 'v1.2'],
    ['https://github.com/org/repo//a?version=v2&timeout=9', 'https://github.com/org/repo', 'a', 'v2'],
    ['https://github.com/org/repo//a?version=v2&ref=v3', 'https://github.com/org/repo', 'a', 'v3'],
    ['https://git.example.com/a/b/c.git/d?ref=main', 'https://git.example.com/a/b/c.git', 'd', 'main'],
    ['https://git.example.com/a/b/c//d', 'https://git.example.com/a/b/c', 'd', undefined],
    [
      'https://dev.azure.com/org/project/_git/repo/a?ref=x',
      'https://dev.azure.com/org/project/_git/repo',
      'a',
      'x',
    ],
    ['HTTPS://git.example.com/a/b', 'https://git.example.com/a/b', '', undefined],
    ['http://localhost:8080/a/b.git//c', 'http://localhost:8080/a/b.git', 'c', undefined],
    ['github.com/org/repo/sub', 'https://github.com/org/repo', 'sub', undefined],
    ['github.com:org/repo', 'https://github.com/org/repo', '', undefined],
    ['git@github.com:org/repo.git//sub', 'ssh://git@github.com/org/repo.git', 'sub', undefined],
    ['ssh://git@github.com/org/repo', 'ssh://git@github.com/org/repo', '', undefined],
    ['git@gitlab.example.com:group/repo.git?ref=v1', 'ssh://git@gitlab.example.com/group/repo.git', '', 'v1'],
    [
      'ssh://git@gitlab.example.com:2222/group/repo.git/sub',
      'ssh://git@gitlab.example.com:2222/group/repo.git',
      'sub',
      undefined,
    ],
    ['git::https://git.example.com/a/b.git//c', 'https://git.example.com/a/b.git', 'c', undefined],
    ['file:///srv/repo.git//sub?ref=v1', 'file:///srv/repo.git', 'sub', 'v1'],
    ['file:///srv/repo', 'file:///srv/repo', '', undefined],
  ])('%s is read as kustomize reads it', (text, repository, path, ref) => {
    expect(parseRepositoryUrl(text)).toEqual({ repository, path, ...(ref === undefined ? {} : { ref }) });
  });

  it.each([
    'base',
    '../base',
    './a/b/c',
    '/srv/repo.git',
    'example.com/org/repo',
    'gitlab.com/org/repo//a',
    'https://example.com/only',
    'https://example.com',
    'ftp://example.com/a/b',
    'https://github.com/org/repo//../other',
    'https://github.com/org/repo/a/../../other',
  ])('%s is none', (text) => {
    expect(parseRepositoryUrl(text)).toBeUndefined();
  });
});
