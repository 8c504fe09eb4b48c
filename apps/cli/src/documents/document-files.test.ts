import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testIo } from '../testing/command-line.js';
import { readDocumentFiles } from './document-files.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'krmhub-files-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function read(
  names: string[],
  stdin = '',
): Promise<{ name: string; text: string; explicit: boolean }[]> {
  const found = [];
  for await (const { name, bytes, explicit } of readDocumentFiles(testIo({ cwd: folder, stdin }), names)) {
    found.push({ name, text: Buffer.from(bytes).toString(), explicit });
  }
  return found;
}

async function failure(work: Promise<unknown>): Promise<KrmhubError> {
  const error: unknown = await work.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(KrmhubError);
  return error as KrmhubError;
}

describe('sources', () => {
  it('are files, folders of YAML and JSON in order, and stdin', async () => {
    for (const name of [
      'b/z.yml',
      'b/a.json',
      'b/node_modules/x.yaml',
      'b/.git/x.yaml',
      'b/c/d.yaml',
      'b/notes.txt',
      'one.txt',
    ]) {
      await mkdir(path.join(folder, path.dirname(name)), { recursive: true });
      await writeFile(path.join(folder, name), name);
    }
    // A link round in a circle must not be followed.
    await symlink('..', path.join(folder, 'b/loop'));
    expect(await read(['one.txt', 'b', '-'], 'typed')).toEqual([
      { name: 'one.txt', text: 'one.txt', explicit: true },
      { name: 'b/a.json', text: 'b/a.json', explicit: false },
      { name: 'b/c/d.yaml', text: 'b/c/d.yaml', explicit: false },
      { name: 'b/z.yml', text: 'b/z.yml', explicit: false },
      { name: '<stdin>', text: 'typed', explicit: true },
    ]);
  });

  it('report missing files', async () => {
    expect(await failure(read(['missing.yaml']))).toMatchObject({
      code: 'not-found',
      message: 'cannot read missing.yaml: no such file or folder',
    });
    await mkdir(path.join(folder, 'empty'));
    expect((await failure(read(['empty']))).message).toContain('no .yaml, .yml, or .json file in empty');
    expect((await failure(read(['-', '-']))).code).toBe('usage');
  });

  it('are read up to one byte above the limit', async () => {
    const limit = DOCUMENT_LIMITS.maxSourceBytes;
    await writeFile(path.join(folder, 'big.yaml'), Buffer.alloc(limit + 1_000_000, 0x20));
    const [file] = await read(['big.yaml']);
    expect(file!.text).toHaveLength(limit + 1);
    const [typed] = await read(['-'], ' '.repeat(limit + 1_000_000));
    expect(typed!.text).toHaveLength(limit + 1);
  });
});
