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
