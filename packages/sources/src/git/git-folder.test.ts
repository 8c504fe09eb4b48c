import { randomBytes } from 'node:crypto';
import { mkdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { readSourceAddress } from '@krmhub/catalog';
import { readSourceFiles } from '@krmhub/schema/documents/source-files';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FetchRequest } from '../context.js';
import { TestRepositories } from '../testing/repositories.js';
import { newestReleaseTags, tagOfFile } from './release-tags.js';

const repositories = new TestRepositories();
const folders = (where: string, more: Partial<FetchRequest> = {}): FetchRequest => {
  const read = readSourceAddress(`git::${where}`, { folders: true });
  if (!read.ok) throw new Error(read.reason);
  return { address: read.address, bundles: false, folder: { releases: 'folders' }, ...more };
};
const tags = { folder: { releases: 'tags' } } as const;
const described = (bytes: Uint8Array | undefined) =>
  readSourceFiles(bytes!)?.map(({ path: file, release, text, problem }) =>
    [file, release, text?.trim() ?? problem].filter(Boolean).join(' | '),
  );

function put(file: string, text: string | Buffer): void {
  mkdirSync(path.dirname(path.join(repositories.work, file)), { recursive: true });
  repositories.write(file, text);
}

beforeAll(async () => {
  await repositories.start();
  put('functions/a/metadata.yaml', 'a: 1\n');
  put('functions/b/metadata.yml', 'b: 1\n');
  repositories.commit('1.0');
  repositories.git('tag', 'v1.0.0');
  repositories.git('tag', '-a', '-m', 'a', 'functions/a/v0.2.0');
  put('functions/a/metadata.yaml', 'a: 2\n');
  put('functions/b/metadata.yml', 'b: 2\n');
  repositories.commit('1.1');
  repositories.git('tag', '-a', '-m', 'all', 'v1.1.0');
  repositories.git('tag', 'v2.0.0-rc.1', 'v1.0.0');
  repositories.git('tag', 'nightly');
  put('functions/a/metadata.yaml', 'a: 3\n');
  put('functions/README.md', 'not read');
  put('functions/.github/workflow.yaml', 'hidden: true\n');
  put('functions/latin1.yaml', Buffer.from([0x61, 0x3a, 0xe4]));
  put('functions/large.json', `"${'x'.repeat(2_000_000)}"`);
  symlinkSync('/etc/passwd', path.join(repositories.work, 'functions/link.yaml'));
  repositories.commit('main');
  repositories.publish('fns.git');
  repositories.publish('unfiltered.git', false);
});
afterAll(() => repositories.stop());

describe('a folder of a git repository', () => {
  const ofMain = [
    'functions/a/metadata.yaml | a: 3',
    'functions/b/metadata.yml | b: 2',
    'functions/large.json | it has 2000002 bytes; the limit is 1048576',
    'functions/latin1.yaml | it is not UTF-8',
  ];

  it.each(['fns.git', 'unfiltered.git'])(
    'is read file by file, without links and hidden files (%s)',
    async (name) => {
      const { bytes, validators } = await repositories
        .fetcher()
        .fetch(folders(repositories.at('functions/', name)));
      expect(described(bytes)).toEqual(ofMain);
      expect(
        await repositories.fetcher().fetch(folders(repositories.at('functions/', name), { validators })),
      ).toEqual({
        validators,
        bundles: [],
      });
      expect(repositories.left()).toEqual([]);
    },
  );

  it('may be the whole repository, and gives the same bytes for the same files', async () => {
    const whole = repositories.at('', 'fns.git').replace(/\/\/$/, '');
    const [one, other] = await Promise.all(
      [whole, `${whole}//`].map((where) => repositories.fetcher().fetch(folders(where))),
    );
    expect(described(one!.bytes)).toEqual([...ofMain, 'team/catalog.yaml | kind: KRMFunctionCatalog']);
    expect(one!.bytes).toEqual(other!.bytes);
  });

  it('has the release that its ref names', async () => {
    const { bytes } = await repositories
      .fetcher()
      .fetch(folders(repositories.at('functions/a?ref=functions/a/v0.2.0', 'fns.git')));
    expect(described(bytes)).toEqual(['functions/a/metadata.yaml | v0.2.0 | a: 1']);
  });

  it('is read at the newest release tag of each function', async () => {
    const request = folders(repositories.at('functions', 'fns.git'), tags);
    const { bytes, validators } = await repositories.fetcher().fetch(request);
    expect(described(bytes)).toEqual([
      'functions/a/metadata.yaml | v0.2.0 | a: 1',
      'functions/b/metadata.yml | v1.1.0 | b: 2',
    ]);
    expect(await repositories.fetcher().fetch({ ...request, validators })).toEqual({
      validators,
      bundles: [],
    });
    const branch = await repositories
      .fetcher()
      .fetch(folders(repositories.at('functions', 'fns.git'), { validators }));
    expect(described(branch.bytes)).toEqual(ofMain);
  });

  it('stays a refusal for a catalog', async () => {
    const { folder: _, ...request } = folders(repositories.at('functions', 'fns.git'));
    await expect(repositories.fetcher().fetch(request)).rejects.toMatchObject({
      problem: 'bad-answer',
      message: expect.stringContaining('is a folder'),
    });
  });

  it.each<[string, () => FetchRequest, object, string]>([
    ['no tag', () => folders(repositories.at('', 'functions.git'), tags), {}, 'has no release tag'],
    ['no file', () => folders(repositories.at('functions/c', 'fns.git')), {}, 'not found'],
    [
      'too many files',
      () => folders(repositories.at('', 'fns.git')),
      { maxFolderFiles: 2 },
      'more than 2 YAML',
    ],
    [
      'too much',
      () => folders(repositories.at('', 'fns.git')),
      { maxCatalogBytes: 20 },
      'larger than 20 bytes',
    ],
    [
      'too many tags',
      () => folders(repositories.at('', 'fns.git'), tags),
      { maxReleaseTags: 1 },
      'the limit is 1',
    ],
    [
      'a long list',
      () => folders(repositories.at('', 'fns.git')),
      { maxGitFolderListBytes: 50 },
      'larger than 50',
    ],
  ])('is refused with %s', async (_, request, limits, message) => {
    const fetched = repositories.fetcher({ limits }).fetch(request());
    await expect(fetched).rejects.toThrow(message);
    expect(repositories.left()).toEqual([]);
  });
});

describe('the parts of a repository that are read', () => {
  const metadata = /metadata\.ya?ml$/;
  const read = async (where: string, folder: NonNullable<FetchRequest['folder']>, limits = {}) =>
    described((await repositories.fetcher({ limits }).fetch(folders(where, { folder }))).bytes);

  beforeAll(() => {
    put('examples/large.bin', randomBytes(3_000_000));
    put('examples/values.yaml', `text: "${'x'.repeat(100_000)}"\n`);
    put('archive/c/metadata.yaml', 'c: 1\n');
    put('archive/c/large.bin', randomBytes(3_000_000));
    repositories.commit('more');
    repositories.git('tag', 'archive/c/v1.0.0');
    repositories.git('rm', '--quiet', '-r', 'archive');
    mkdirSync(path.join(repositories.work, 'moved'));
    repositories.git('mv', 'functions/b', 'moved/b');
    repositories.commit('less');
    repositories.publish('parts.git');
  });

  it('are fetched alone, of a branch and of release tags, if the server supports partial clones', async () => {
    const small = { maxRepositoryBytes: 1_000_000, maxCatalogBytes: 10_000 };
    const where = repositories.at('', 'parts.git').replace(/\/\/$/, '');
    expect(await read(where, { releases: 'folders', names: metadata }, small)).toEqual([
      'functions/a/metadata.yaml | a: 3',
      'moved/b/metadata.yml | b: 2',
    ]);
    expect(await read(where, { releases: 'tags', paths: ['functions', 'archive'] }, small)).toEqual([
      'archive/c/metadata.yaml | v1.0.0 | c: 1',
      'functions/a/metadata.yaml | v0.2.0 | a: 1',
      'functions/b/metadata.yml | v1.1.0 | b: 2',
    ]);
  });

  it('are fetched with the rest from a server that does not serve single objects', async () => {
    repositories.instead = (request) => {
      delete request.headers['git-protocol'];
      return false;
    };
    const where = repositories.at('functions/a', 'parts.git');
    expect(await read(where, { releases: 'folders' })).toEqual(['functions/a/metadata.yaml | a: 3']);
    repositories.instead = undefined;
  });

  it('are the listed folders, and a folder that does not exist is named', async () => {
    const where = repositories.at('', 'parts.git').replace(/\/\/$/, '');
    expect(await read(where, { releases: 'folders', paths: ['moved', 'team'] })).toEqual([
      'moved/b/metadata.yml | b: 2',
      'team/catalog.yaml | kind: KRMFunctionCatalog',
    ]);
    await expect(read(where, { releases: 'folders', paths: ['moved', 'none'] })).rejects.toThrow(
      /"none" of .* has no files/,
    );
  });

  it('are read again if others are selected, or if the commit gets a tag', async () => {
    const where = repositories.at('functions', 'parts.git');
    const fetch = (validators: Record<string, string>, paths?: string[]) =>
      repositories
        .fetcher()
        .fetch(folders(where, { validators, folder: { releases: 'folders', ...(paths && { paths }) } }));
    const first = await fetch({});
    expect((await fetch(first.validators)).bytes).toBeUndefined();
    expect(described((await fetch(first.validators, ['a'])).bytes)).toHaveLength(1);
    repositories.git('-C', path.join(repositories.root, 'parts.git'), 'tag', 'v3.0.0', 'main');
    const tagged = await fetch(first.validators);
    expect(described(tagged.bytes)![0]).toBe('functions/a/metadata.yaml | v3.0.0 | a: 3');
    expect((await fetch(tagged.validators)).bytes).toBeUndefined();
    repositories.git('-C', path.join(repositories.root, 'parts.git'), 'tag', '-d', 'v3.0.0');
  });

  it('are marked if the newest commit does not have their function, but not if it has moved', async () => {
    const where = repositories.at('', 'parts.git').replace(/\/\/$/, '');
    const { bytes } = await repositories
      .fetcher()
      .fetch(folders(where, { folder: { releases: 'tags', names: metadata } }));
    const removed = readSourceFiles(bytes!)!.map(({ path: file, removed = false }) => [file, removed]);
    expect(removed).toEqual([
      ['archive/c/metadata.yaml', true],
      ['functions/a/metadata.yaml', false],
      ['functions/b/metadata.yml', false],
    ]);
  });

  it('get the release of a ref or a commit only in the folder that it names', async () => {
    const of = async (ref: string) =>
      described(
        (await repositories.fetcher().fetch(folders(repositories.at(`functions?ref=${ref}`, 'fns.git'))))
          .bytes,
      );
    const a = 'functions/a/metadata.yaml';
    const b = 'functions/b/metadata.yml';
    expect(await of('functions/a/v0.2.0')).toEqual([`${a} | v0.2.0 | a: 1`, `${b} | b: 1`]);
    expect(await of(repositories.git('rev-parse', 'v1.1.0^{commit}'))).toEqual([
      `${a} | v1.1.0 | a: 2`,
      `${b} | v1.1.0 | b: 2`,
    ]);
    repositories.git('branch', 'releases/v1.1', 'v1.1.0');
    repositories.git('push', '--quiet', path.join(repositories.root, 'fns.git'), 'releases/v1.1');
    expect(await of('releases/v1.1')).toEqual([`${a} | v1.1 | a: 2`, `${b} | v1.1 | b: 2`]);
  });
});

describe('release tags', () => {
  it('are the newest of the repository and of each folder', () => {
    const found = newestReleaseTags([
      'v1.0.0',
      'v1.10.0',
      'v1.9.0',
      'v2.0.0-rc.1',
      'a/v0.3',
      'a/0.2.9',
      'x/y/1.0',
    ]);
    expect(found.map(({ tag }) => tag)).toEqual(['v1.10.0', 'a/v0.3', 'x/y/1.0']);
  });

  it('are nothing that git takes for something else', () => {
    const hostile = [
      '-v1.0.0',
      '../v1.0.0',
      'a/../v1.0.0',
      'a..b/v1.0.0',
      'a.lock/v1.0.0',
      'a:b/v1.0',
      '*/v1.0',
      'v1',
    ];
    expect(newestReleaseTags([...hostile, 'v1.0.0-a..b', '@/v1.0.0', 'a b/v1.0.0'])).toEqual([]);
  });

  it('belong to the files of their folder, also by its last name', () => {
    const found = newestReleaseTags(['v1.0.0', 'set-labels/v2.0.0', 'fn/go/set-labels/v3.0.0']);
    expect(tagOfFile(found, 'fn/go/set-labels/metadata.yaml')?.release).toBe('v3.0.0');
    expect(tagOfFile(found, 'fn/ts/set-labels/x/metadata.yaml')?.release).toBe('v2.0.0');
    expect(tagOfFile(found, 'fn/other/metadata.yaml')?.release).toBe('v1.0.0');
  });
});
