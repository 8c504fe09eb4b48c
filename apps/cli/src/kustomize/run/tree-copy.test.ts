import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TreeCopy } from './tree-copy.js';

let folder: string;
let copied: string;
const user = (name: string) => path.join(folder, 'user', name);

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'krmhub-copy-')));
  copied = path.join(folder, 'copy');
  for (const name of ['user', 'copy']) await mkdir(path.join(folder, name));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function write(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(user(name)), { recursive: true });
    await writeFile(user(name), text);
  }
}
const found = async () =>
  (await readdir(path.join(copied, user('')), { recursive: true }))
    .filter((name) => name.includes('.'))
    .sort();

describe('the copy', () => {
  it('has the folders of the layers under their paths, and no .git', async () => {
    await write({
      'app/a.yaml': 'a',
      'app/sub/b.yaml': 'b',
      'app/.git/c': 'c',
      'base/d.yaml': 'd',
      'other/e.yaml': 'e',
    });
    const copy = new TreeCopy(copied);
    for (const name of ['app', 'base']) await copy.addFolder(user(name));
    copy.addText(user('app/a.yaml'), 'changed');
    copy.addText(user('app/new.yaml'), 'new');
    await copy.write();
    expect(await found()).toEqual(['app/a.yaml', 'app/new.yaml', 'app/sub/b.yaml', 'base/d.yaml']);
    expect(await readFile(copy.at(user('app/a.yaml')), 'utf8')).toBe('changed');
    expect(await readFile(copy.at(user('app/sub/b.yaml')), 'utf8')).toBe('b');
    expect(await readFile(user('app/a.yaml'), 'utf8')).toBe('a');
  });

  it('links to what was copied, and to the original of what was not', async () => {
    await write({ 'app/a.yaml': 'a', 'base/b.yaml': 'b', 'other/secret.yaml': 's' });
    await symlink(user('app/a.yaml'), user('app/absolute.yaml'));
    await symlink('../base', user('app/base.link'));
    await symlink('../other/secret.yaml', user('app/secret.yaml'));
    await symlink('/nothing/here', user('app/dangling.yaml'));
    await symlink('..', user('app/circle.link'));
    const copy = new TreeCopy(copied);
    for (const name of ['app', 'base']) await copy.addFolder(user(name));
    await copy.write();
    const link = (name: string) => readlink(copy.at(user(name)));
    expect(await link('app/absolute.yaml')).toBe(copy.at(user('app/a.yaml')));
    expect(await link('app/base.link')).toBe(copy.at(user('base')));
    expect(await link('app/secret.yaml')).toBe(user('other/secret.yaml'));
    expect(await link('app/circle.link')).toBe(copy.at(user('')));
    await expect(lstat(copy.at(user('app/dangling.yaml')))).rejects.toThrow('ENOENT');
  });

  it('reaches what is named beside it, also through links', async () => {
    await write({ 'app/a.yaml': 'a', 'real/base/b.yaml': 'b', 'files/c.yaml': 'c' });
    await symlink('real', user('link'));
    const copy = new TreeCopy(copied);
    for (const name of ['app', 'real/base']) await copy.addFolder(user(name));
    for (const name of ['link/base', 'files/c.yaml', 'missing.yaml', 'app/a.yaml', 'link/base/b.yaml'])
      await copy.addPath(user(name));
    await copy.write();
    expect(await realpath(copy.at(user('link/base/b.yaml')))).toBe(copy.at(user('real/base/b.yaml')));
    expect(await readlink(copy.at(user('files/c.yaml')))).toBe(user('files/c.yaml'));
    await expect(lstat(copy.at(user('missing.yaml')))).rejects.toThrow('ENOENT');
  });

  it('never writes through a link', async () => {
    await write({ 'app/a.yaml': 'a', 'outside/keep.yaml': 'keep' });
    await symlink('../outside', user('app/out'));
    const copy = new TreeCopy(copied);
    await copy.addFolder(user('app'));
    copy.addText(user('app/out/keep.yaml'), 'changed');
    await copy.addPath(user('app/out/keep.yaml'));
    await copy.write();
    expect(await readFile(user('outside/keep.yaml'), 'utf8')).toBe('keep');
  });

  it('leaves an unreadable file to kustomize', async () => {
    await write({ 'app/a.yaml': 'a' });
    await chmod(user('app/a.yaml'), 0);
    const copy = new TreeCopy(copied);
    await copy.addFolder(user('app'));
    await copy.write();
    expect(await found()).toEqual(['app/a.yaml']);
  });

  it('is refused if it is too large', async () => {
    await write({ 'app/a.yaml': 'a', 'app/b.yaml': 'b'.repeat(2_000_000), 'app/sub/c.yaml': 'c' });
    const few = new TreeCopy(copied, { maxCopiedFiles: 2, maxCopiedBytes: 10_485_760 });
    await expect(few.addFolder(user('app'))).rejects.toMatchObject({
      code: 'too-large',
      message: `cannot copy ${user('app')}: more than 2 files`,
    });
    const small = new TreeCopy(copied, { maxCopiedFiles: 10, maxCopiedBytes: 1_048_576 });
    await expect(small.addFolder(user('app'))).rejects.toThrow('more than 1 MiB');
    expect(await readdir(copied)).toEqual([]);
  });

  it('maps messages to the paths of the user', () => {
    const copy = new TreeCopy('/tmp/krmhub-x/tree');
    expect(copy.mapPaths("no 'a' in '/tmp/krmhub-x/tree/home/me/app', but in /tmp/krmhub-x/tree")).toBe(
      "no 'a' in '/home/me/app', but in /",
    );
  });
});
