import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { platform, tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeFileAtomically } from './write-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-files-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function failure(work: Promise<unknown>): Promise<KrmhubError> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(KrmhubError);
  return error as KrmhubError;
}

describe('writing a file', () => {
  it('creates its folders, and does not rewrite the same bytes', async () => {
    const file = path.join(folder, 'a/b/c.yaml');
    expect(await writeFileAtomically(file, 'x', { overwrite: false })).toBe('written');
    const before = await stat(file);
    expect(await writeFileAtomically(file, 'x', { overwrite: true })).toBe('unchanged');
    const after = await stat(file);
    expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
    expect(await readdir(path.dirname(file))).toEqual(['c.yaml']);
  });

  it('replaces other bytes only if allowed', async () => {
    const file = path.join(folder, 'c.yaml');
    await writeFile(file, 'mine');
    expect((await failure(writeFileAtomically(file, 'theirs', { overwrite: false }))).code).toBe('conflict');
    expect(await readFile(file, 'utf8')).toBe('mine');
    await writeFileAtomically(file, 'theirs', { overwrite: true });
    expect(await readFile(file, 'utf8')).toBe('theirs');
    expect(await readdir(folder)).toEqual(['c.yaml']);
  });

  it.skipIf(platform() === 'win32')('keeps the permissions of the file that it replaces', async () => {
    const file = path.join(folder, 'c.yaml');
    for (const mode of [0o600, 0o755]) {
      await writeFile(file, 'mine');
      await chmod(file, mode);
      await writeFileAtomically(file, 'theirs', { overwrite: true });
      expect((await stat(file)).mode & 0o777).toBe(mode);
    }
    await writeFileAtomically(file, 'own', { overwrite: true, mode: 0o640 });
    expect((await stat(file)).mode & 0o777).toBe(0o640);
  });

  it('writes the complete file of one of several writers', async () => {
    const file = path.join(folder, 'race.yaml');
    const texts = Array.from({ length: 10 }, (_, index) => String(index).repeat(100_000));
    const results = await Promise.allSettled(
      texts.map((text) => writeFileAtomically(file, text, { overwrite: false })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(texts).toContain(await readFile(file, 'utf8'));
    expect(await readdir(folder)).toEqual(['race.yaml']);
  });

  it.skipIf(platform() === 'win32')('keeps a secret for its owner', async () => {
    const file = path.join(folder, 'private/token');
    await writeFileAtomically(file, 'x', { overwrite: true, mode: 0o600, folderMode: 0o700 });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  });

  it.skipIf(platform() === 'win32' || userInfo().uid === 0)(
    'says that it may not (not tried as root, who may)',
    async () => {
      await chmod(folder, 0o500);
      const error = await failure(writeFileAtomically(path.join(folder, 'c.yaml'), 'x', { overwrite: true }));
      await chmod(folder, 0o700);
      expect(error).toMatchObject({ code: 'unavailable' });
      expect(error.message).toContain('permission denied');
    },
  );

  it('reports that a part of the path is not a folder', async () => {
    await writeFile(path.join(folder, 'file'), '');
    const error = await failure(
      writeFileAtomically(path.join(folder, 'file/c.yaml'), 'x', { overwrite: true }),
    );
    expect(error.code).toBe('unavailable');
    expect(error.message).toContain('a part of the path is not a folder');
  });
});
