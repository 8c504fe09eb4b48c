import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FetcherOptions } from '../context.js';
import { asking, TestRepositories } from '../testing/repositories.js';

const repositories = new TestRepositories();
const target = () => path.join(repositories.folder, 'tree');

function put(file: string, text: string): void {
  mkdirSync(path.dirname(path.join(repositories.work, file)), { recursive: true });
  repositories.write(file, text);
}

function fetchTree(pathAndRef: string, repository = 'tree.git', options: Partial<FetcherOptions> = {}) {
  const { address } = asking(repositories.at(pathAndRef, repository));
  if (address.type !== 'git') throw new Error('not a repository');
  return repositories.fetcher(options).fetchTree({ address, folder: target() });
}

const files = () =>
  readdirSync(target(), { recursive: true, withFileTypes: true })
    // Node.js 24 also lists what is in linked folders.
    .filter((entry) => entry.isFile() && realpathSync(entry.parentPath) === entry.parentPath)
    .map((entry) => path.relative(target(), path.join(entry.parentPath, entry.name)))
    .sort();

const LINKS = {
  // A link to a link that is written later.
  a: 'linked/a.yaml',
  linked: 'base',
  'base/up.yaml': '../team/catalog.yaml',
  // Outside: absolute, too many folders up, and too many up from where a link leads.
  'base/link.yaml': '/etc/passwd',
  out: '../repositories',
  'base/sub': '../.hidden',
  through: 'base/sub/../..',
  missing: 'nothing',
  circle: 'circle',
};

/** Tags a commit with one file of this name, which git itself would not add. */
function tagFileNamed(name: string, tag: string): void {
  const object = Buffer.from(repositories.git('rev-parse', 'HEAD:base/a.yaml'), 'hex');
  const entry = Buffer.concat([Buffer.from(`100644 ${name}\0`), object]);
  const tree = execFileSync('git', ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'], {
    cwd: repositories.work,
    input: entry,
  });
  const commit = repositories.git('commit-tree', '-m', name, tree.toString().trim());
  repositories.git('tag', tag, commit);
}

beforeAll(async () => {
  await repositories.start();
  put('base/kustomization.yaml', 'resources: [a.yaml]\n');
  put('base/a.yaml', 'kind: A\n');
  put('bin/run.sh', '#!/bin/sh\n');
  put('.hidden/b.yaml', 'kind: B\n');
  put('large.bin', 'x'.repeat(5_000));
  chmodSync(path.join(repositories.work, 'bin/run.sh'), 0o755);
  for (const [name, to] of Object.entries(LINKS)) symlinkSync(to, path.join(repositories.work, name));
  put('.gitattributes', '*.yaml filter=evil\n');
  repositories.commit('one');
  repositories.git('tag', 'v1');
  put('base/a.yaml', 'kind: Changed\n');
  repositories.commit('two');
  tagFileNamed('..', 'up');
  tagFileNamed('.GIT', 'repository');
  tagFileNamed('a\\b', 'backslash');
  repositories.publish('tree.git');
  repositories.publish('unfiltered.git', false);
});
afterAll(() => repositories.stop());

describe('the tree of a commit', () => {
  it.each(['tree.git', 'unfiltered.git'])(
    'of %s is written as it is, with the links inside it',
    async (name) => {
      const commit = await fetchTree('x?ref=v1', name);
      expect(commit).toBe(repositories.git('rev-parse', 'v1'));
      expect(files()).toEqual([
        '.gitattributes',
        '.hidden/b.yaml',
        'base/a.yaml',
        'base/kustomization.yaml',
        'bin/run.sh',
        'large.bin',
        'team/catalog.yaml',
      ]);
      const links = Object.entries(LINKS).filter(([name]) => existsSync(path.join(target(), name)));
      expect(links.map(([name]) => name)).toEqual(['a', 'linked', 'base/up.yaml', 'base/sub']);
      expect(readFileSync(path.join(target(), 'base/a.yaml'), 'utf8')).toBe('kind: A\n');
      expect(statSync(path.join(target(), 'bin/run.sh')).mode & 0o111).toBe(0o111);
      expect(statSync(path.join(target(), 'base/a.yaml')).mode & 0o111).toBe(0);
    },
  );

  it('replaces what is in the folder', async () => {
    mkdirSync(target(), { recursive: true });
    writeFileSync(path.join(target(), 'old'), '');
    await fetchTree('x');
    expect(files()).not.toContain('old');
    expect(readFileSync(path.join(target(), 'base/a.yaml'), 'utf8')).toBe('kind: Changed\n');
  });

  it('leaves out files that are too large, and refuses a tree of too many', async () => {
    await fetchTree('x', 'tree.git', { limits: { maxTreeFileBytes: 4_999 } });
    expect(files()).not.toContain('large.bin');
    await expect(fetchTree('x', 'tree.git', { limits: { maxTreeFiles: 15 } })).rejects.toMatchObject({
      problem: 'too-large',
      message: expect.stringContaining('has 16 files; the limit is 15'),
    });
  });

  it('of a missing ref is not found', async () => {
    await expect(fetchTree('x?ref=v9')).rejects.toMatchObject({ problem: 'not-found' });
  });

  it.each(['up', 'repository', 'backslash'])(
    'with a name that leads out of its folder is refused: %s',
    async (tag) => {
      await fetchTree('x');
      const before = files();
      await expect(fetchTree(`x?ref=${tag}`)).rejects.toMatchObject({ problem: 'bad-answer' });
      expect(files()).toEqual(before);
    },
  );

  it('leaves nothing behind', () => {
    expect(repositories.left()).toEqual([]);
  });
});
