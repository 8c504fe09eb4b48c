import { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageFolders } from '../plan/package-tree.js';
import { readResources } from '../resource-list/read-resources.js';
import type { Resource } from '../resource-list/resource.js';
import { configMap, folderContent, packageFolder, usePackageFolders } from '../testing/package-folder.js';
import { readIgnoreRules } from './ignore-file.js';
import { PACKAGE_LIMITS } from './limits.js';
import { planWrite } from './plan-write.js';
import { readPackage } from './read-package.js';
import { writeFolder } from './write-folder.js';

usePackageFolders();

const KPTFILE = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n';
const paths = async (folder: string) =>
  (await readPackage(folder)).resources.map(({ path: at, index }) => `${at}#${index}`);

/** Root may read everything. */
async function asOrdinaryUser(folders: readonly string[], action: () => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0) return action();
  for (const folder of folders) chownSync(folder, NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    await action();
  } finally {
    process.seteuid?.(0);
  }
}

const NOBODY = 65_534;

describe('readPackage', () => {
  it('reads files in the order of kpt, and each document of them', async () => {
    const folder = packageFolder({
      Kptfile: KPTFILE,
      'b.yaml': `${configMap('b')}---\n---\n${configMap('c')}`,
      'B.yml': configMap('d'),
      'a/Kptfile': KPTFILE,
      'a/x.json': '{"apiVersion": "v1", "kind": "A", "metadata": {"name": "x"}}\n',
      '.hidden/h.yaml': configMap('h'),
      '.git/refs/heads/branch.yaml': 'not: [YAML',
      'README.md': 'text\n',
    });
    expect(await paths(folder)).toEqual([
      '.hidden/h.yaml#0',
      'B.yml#0',
      'Kptfile#0',
      'a/Kptfile#0',
      'a/x.json#0',
      'b.yaml#0',
      'b.yaml#1',
    ]);
    const { files } = await readPackage(folder);
    expect(packageFolders(files.keys())).toEqual(['', 'a']);
  });

  it('leaves out what an ignore file lists, for each package its own', async () => {
    const folder = packageFolder({
      '.krmignore': 'skipped/\nc*.yaml\n',
      'c1.yaml': configMap('a'),
      'k.yaml': configMap('k'),
      'skipped/a.yaml': configMap('a'),
      'inner/c2.yaml': configMap('c'),
      'sub/Kptfile': KPTFILE,
      'sub/c3.yaml': configMap('c'),
    });
    expect(await paths(folder)).toEqual(['k.yaml#0', 'sub/Kptfile#0', 'sub/c3.yaml#0']);
  });

  it('follows a link to an ignore file in the package, as kpt does', async () => {
    const folder = packageFolder({
      'a.yaml': configMap('a'),
      'ignored.txt': 'a.yaml\n',
      'b/a.yaml': configMap('b'),
      'b/Kptfile': KPTFILE,
    });
    symlinkSync('ignored.txt', path.join(folder, '.krmignore'));
    symlinkSync('/dev/null', path.join(folder, 'b/.krmignore'));
    const { resources, skipped } = await readPackage(folder);
    expect(resources.map(({ path: at }) => at)).toEqual(['b/Kptfile', 'b/a.yaml']);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'b/.krmignore: it is a symbolic link, but not to a file',
    ]);
  });

  it('reads links to files in the package, and names those that lead elsewhere', async () => {
    const outside = packageFolder({ 'secret.yaml': configMap('secret') });
    const folder = packageFolder({ 'a.yaml': configMap('a'), 'b.txt': configMap('b'), '.git/c.yaml': 'c' });
    symlinkSync('b.txt', path.join(folder, 'b.yaml'));
    symlinkSync(path.join(outside, 'secret.yaml'), path.join(folder, 'link.yaml'));
    symlinkSync('.git/c.yaml', path.join(folder, 'git.yaml'));
    symlinkSync('nothing', path.join(folder, 'broken.yaml'));
    symlinkSync('loop.yaml', path.join(folder, 'loop.yaml'));
    symlinkSync('..', path.join(folder, 'up.yaml'));
    symlinkSync(outside, path.join(folder, 'linked'));
    const { resources, skipped } = await readPackage(folder);
    expect(resources.map(({ path: at }) => at)).toEqual(['a.yaml', 'b.yaml']);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'broken.yaml: it is a symbolic link to a file that does not exist',
      'git.yaml: it is a symbolic link to a file outside of the package',
      'link.yaml: it is a symbolic link to a file outside of the package',
      'loop.yaml: it is a symbolic link that cannot be followed',
      'up.yaml: it is a symbolic link, but not to a file',
    ]);
  });

  it.each([
    ['files', { maxFiles: 1 }],
    ['bytes', { maxBytes: 100 }],
    ['bytes of a file', { maxFileBytes: 50 }],
    ['levels', { maxDepth: 0 }],
    ['entries', { maxEntries: 2 }],
  ])('refuses too many %s', async (_, limits) => {
    const folder = packageFolder({
      'a.yaml': configMap('a'),
      'b.yaml': configMap('b'),
      'c/d.yaml': configMap('d'),
    });
    await expect(readPackage(folder, { limits: { ...PACKAGE_LIMITS, ...limits } })).rejects.toMatchObject({
      code: 'too-large',
    });
  });

  it('names all files that cannot be read, with their places', async () => {
    const folder = packageFolder({
      'a.yaml': configMap('a'),
      'sub/template.yaml': 'apiVersion: v1\nkind: {{ kind }}\n',
      'twice.yaml': `${configMap('b')}kind: Secret\n`,
      'unclosed.yaml': 'a: [\n',
    });
    const one = 'cannot read sub/template.yaml:2:7: a key is a map or a list, expected a string';
    writeFileSync(path.join(folder, 'bytes.yaml'), Buffer.from([0x61, 0xff]));
    await expect(readPackage(folder)).rejects.toMatchObject({
      code: 'invalid-document',
      message: `cannot read 4 files:
  cannot read bytes.yaml:1:2: it is not UTF-8 text
  ${one}
  cannot read twice.yaml:${configMap('b').split('\n').length}:1: the key "kind" occurs twice
  cannot read unclosed.yaml:2:1: did not find expected node content; the [ in line 1, column 4 is not closed`,
      hint: expect.stringContaining('--skip-unreadable'),
    });
    for (const name of ['bytes.yaml', 'twice.yaml', 'unclosed.yaml']) rmSync(path.join(folder, name));
    await expect(readPackage(folder)).rejects.toMatchObject({ message: one });
    await expect(readPackage(path.join(folder, 'none'))).rejects.toMatchObject({ code: 'not-found' });
  });

  it.each([
    ['sub', 0o000, 'cannot read sub/Kptfile: permission denied'],
    ['sub', 0o600, 'cannot read sub/Kptfile: permission denied'],
    ['sub', 0o300, 'cannot read the folder sub/: permission denied'],
    ['.', 0o300, /^cannot read .*: permission denied$/],
    ['.', 0o000, /^cannot read .*: permission denied$/],
  ])('names a folder that the user may not read: %s with mode %i', async (name, mode, message) => {
    const folder = packageFolder({ 'a.yaml': configMap('a'), 'sub/b.yaml': configMap('b') });
    const closed = path.join(folder, name);
    await asOrdinaryUser([folder, path.join(folder, 'sub')], async () => {
      chmodSync(closed, mode);
      const reading = readPackage(folder).finally(() => chmodSync(closed, 0o755));
      await expect(reading).rejects.toMatchObject({
        code: 'unavailable',
        message: typeof message === 'string' ? message : expect.stringMatching(message),
      });
    });
  });

  it('leaves out what cannot be read if the caller wants it, but no Kptfile', async () => {
    const folder = packageFolder({
      'a.yaml': configMap('a'),
      'values.yaml': 'replicas: 1\n',
      'two.yaml': `${configMap('b')}---\nvalue: 1\n`,
      'template.yaml': 'kind: {{ kind }}\n',
    });
    const { resources, skipped, files } = await readPackage(folder, { skipsUnreadable: true });
    expect(resources.map(({ path: at }) => at)).toEqual(['a.yaml']);
    expect([...files.keys()]).toEqual(['a.yaml']);
    expect(skipped.map(({ reason }) => reason)).toEqual([
      'template.yaml:1:7: a key is a map or a list, expected a string',
      'two.yaml: resource must have `apiVersion`',
      'values.yaml: resource must have `apiVersion`',
    ]);
    writeFileSync(path.join(folder, 'Kptfile'), 'kind: {{ kind }}\n');
    await expect(readPackage(folder, { skipsUnreadable: true })).rejects.toThrow('cannot read Kptfile:1:7');
  });
});

describe('planWrite', () => {
  it('plans nothing for a package that did not change', async () => {
    const read = await readPackage(packageFolder({ 'a.yaml': configMap('a'), 'list.yaml': '- a\n- b: c\n' }));
    expect(planWrite(read, read.resources)).toEqual({ changes: [], notes: [] });
  });

  it('writes through links, and refuses two contents for one file', async () => {
    const folder = packageFolder({ 'a.yaml': configMap('a'), 'b.txt': configMap('b') });
    symlinkSync('a.yaml', path.join(folder, 'a2.yaml'));
    symlinkSync('b.txt', path.join(folder, 'b.yaml'));
    const read = await readPackage(folder);
    const changed = (one: Resource) => readResources(configMap('changed'), one)[0]!;
    const change = (names: readonly string[]) =>
      read.resources.map((one) => (names.includes(one.path) ? changed(one) : one));
    expect(planWrite(read, change(['b.yaml'])).changes).toMatchObject([{ type: 'update', path: 'b.txt' }]);
    expect(planWrite(read, change(['a.yaml', 'a2.yaml'])).changes).toMatchObject([
      { type: 'update', path: 'a.yaml' },
    ]);
    expect(() => planWrite(read, change(['a.yaml']))).toThrow('it is the same file as a.yaml');
    expect(() => planWrite(read, read.resources.slice(0, 2))).toThrow(
      'cannot delete b.yaml: it is a symbolic link to b.txt',
    );
  });

  it('writes resources in the order of their indexes, and a lone one in a JSON file as JSON', async () => {
    const read = await readPackage(packageFolder({}));
    const [a] = readResources(configMap('a'), { path: 'x.yaml' });
    const [b] = readResources(configMap('b', '"<1>"'), { path: 'x.yaml' });
    const plan = planWrite(read, [a!.at({ index: 2 }), b!, b!.at({ path: 'b.json' })]);
    expect(plan.changes).toEqual([
      { type: 'create', path: 'x.yaml', after: `${configMap('b', '"<1>"')}---\n${configMap('a')}` },
      {
        type: 'create',
        path: 'b.json',
        after:
          '{\n  "apiVersion": "v1",\n  "data": {\n    "value": "\\u003c1\\u003e"\n  },\n  "kind": "ConfigMap",\n  "metadata": {\n    "name": "b"\n  }\n}\n',
      },
    ]);
  });

  it.each(['../a.yaml', '/a.yaml', 'a/../../b.yaml', '.'])('refuses to write %s', async (at) => {
    const read = await readPackage(packageFolder({}));
    const [resource] = readResources(configMap('a'), { path: at });
    expect(() => planWrite(read, [resource!])).toThrow(
      at.startsWith('/')
        ? 'package paths may not be absolute paths'
        : 'resource must be written under the package',
    );
  });
});

describe('writeFolder', () => {
  it('says that the name of a new folder is too long', () => {
    const folder = packageFolder({});
    const name = path.join(folder, 'x'.repeat(300));
    expect(() => writeFolder(name, [])).toThrow(`cannot write ${name}: a name is too long`);
  });

  it('writes a new folder, and leaves one that exists as it is', () => {
    const folder = packageFolder({});
    const resources = readResources(configMap('a'), { path: 'inner/a.yaml' });
    writeFolder(path.join(folder, 'out/new'), resources);
    expect(folderContent(folder)).toEqual({ 'out/new/inner/a.yaml': configMap('a') });
    mkdirSync(path.join(folder, 'empty'));
    for (const taken of ['out/new', 'empty']) {
      expect(() => writeFolder(path.join(folder, taken), [])).toThrow('already exists');
    }
    expect(folderContent(folder)).toEqual({ 'out/new/inner/a.yaml': configMap('a') });
  });
});

describe('readIgnoreRules', () => {
  it.each([
    ['a.yaml', 'a.yaml', true],
    ['a.yaml', 'x/a.yaml', true],
    ['/a.yaml', 'x/a.yaml', false],
    ['x/a.yaml', 'x/a.yaml', true],
    ['x/a.yaml', 'y/x/a.yaml', false],
    ['**/a.yaml', 'y/x/a.yaml', true],
    ['x/**', 'x/y/a.yaml', true],
    ['x/**/a.yaml', 'x/a.yaml', true],
    ['*.yaml', 'x/a.yaml', true],
    ['x/*.yaml', 'x/y/a.yaml', false],
    ['a?.yaml', 'ab.yaml', true],
    ['[ab].yaml', 'b.yaml', true],
    ['[!ab].yaml', 'b.yaml', false],
    ['folder/', 'folder', false],
    ['# a.yaml', 'a.yaml', false],
    ['\\#a.yaml', '#a.yaml', true],
    ['a.yaml  ', 'a.yaml', true],
    ['*.yaml\n!a.yaml', 'a.yaml', false],
    ['*.yaml\n!a.yaml', 'b.yaml', true],
    ['a+b(.yaml', 'a+b(.yaml', true],
    ['[a.yaml', '[a.yaml', true],
  ])('%j for %s: %s', (text, file, isIgnored) => {
    expect(readIgnoreRules(text)(file, false)).toBe(isIgnored);
  });

  it('takes a pattern with a slash at the end for folders only', () => {
    expect(readIgnoreRules('folder/\n')('x/folder', true)).toBe(true);
  });
});
