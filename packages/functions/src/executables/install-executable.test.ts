import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Digest } from '@krmhub/schema/digest';
import { describe, expect, it } from 'vitest';
import { EXECUTABLE_LIMITS, type ExecutableLimits } from '../archives/limits.js';
import { paxRecord, tarArchive, type ZipEntry, zipArchive } from '../testing/archives.js';
import { installExecutable } from './install-executable.js';

const folder = mkdtempSync(path.join(tmpdir(), 'krmhub-install-'));

const PROGRAM = '#!/bin/sh\ncat\n';
const tool = { path: 'tool', content: PROGRAM };
const sha256Digest = (bytes: string | Buffer): Digest =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

async function install(
  bytes: string | Buffer,
  { bin = 'tool', limits = {} }: { bin?: string; limits?: Partial<ExecutableLimits> } = {},
) {
  const source = path.join(mkdtempSync(path.join(folder, 'source-')), 'download');
  const target = path.join(path.dirname(source), 'installed');
  writeFileSync(source, bytes);
  const request = { file: source, sha256: sha256Digest(bytes), bin };
  const installed = installExecutable(request, target, { ...EXECUTABLE_LIMITS, ...limits });
  const outcome = await installed.catch((error: unknown) => error as { code: string; message: string });
  // Nothing but the program, whatever happened.
  expect(readdirSync(target)).toEqual('file' in outcome ? [path.basename(bin)] : []);
  // Nothing beside the folder.
  expect(readdirSync(path.dirname(source)).sort()).toEqual(['download', 'installed']);
  return outcome;
}

describe('an executable', () => {
  it.each<[string, Buffer | string]>([
    ['a program', PROGRAM],
    ['a tar archive', tarArchive([tool])],
    ['a tar.gz archive', gzipSync(tarArchive([{ path: 'README.md', content: '# Tool' }, tool]))],
    ['a zip archive', zipArchive([{ path: 'README.md', content: '# Tool' }, tool])],
    ['a zip archive without compression', zipArchive([{ ...tool, isStored: true }])],
    ['a zip archive made on another system', zipArchive([{ ...tool, mode: 0 }])],
    [
      'an archive with a link inside of it',
      gzipSync(tarArchive([{ path: 'lib/current', type: '2', link: '../tool' }, tool])),
    ],
    [
      'a zip archive with a link inside of it',
      zipArchive([{ path: 'lib/current', content: '../tool', mode: 0o120_777 }, tool]),
    ],
  ])('is installed from %s', async (_, bytes) => {
    const installed = await install(bytes);
    if (!('file' in installed)) throw installed;
    expect(readFileSync(installed.file, 'utf8')).toBe(PROGRAM);
    expect(installed.sha256).toBe(sha256Digest(PROGRAM));
    expect(statSync(installed.file).mode & 0o777).toBe(0o500);
    expect(statSync(path.dirname(installed.file)).mode & 0o777).toBe(0o700);
  });

  it('is found at a path, also a long one, in archives of tar', async () => {
    const long = `${'a-folder-with-a-long-name/'.repeat(6)}tool`;
    for (const format of ['gnu', 'pax', 'ustar', 'v7']) {
      const content = mkdtempSync(path.join(folder, 'content-'));
      const name = format === 'v7' ? 'bin/tool' : long;
      mkdirSync(path.join(content, path.dirname(name)), { recursive: true });
      writeFileSync(path.join(content, name), PROGRAM);
      writeFileSync(path.join(content, 'LICENSE'), 'text');
      symlinkSync('LICENSE', path.join(content, 'COPYING'));
      execFileSync('tar', [`--format=${format}`, '-czf', `${content}.tgz`, '-C', content, '.']);
      const installed = await install(readFileSync(`${content}.tgz`), { bin: name });
      if (!('file' in installed)) throw installed;
      expect(readFileSync(installed.file, 'utf8')).toBe(PROGRAM);
    }
  });

  it('replaces an earlier one', async () => {
    const target = path.join(folder, 'again');
    for (const text of [PROGRAM, `${PROGRAM}# second\n`]) {
      const source = path.join(folder, 'again.source');
      writeFileSync(source, text);
      const { file } = await installExecutable(
        { file: source, sha256: sha256Digest(text), bin: 'tool' },
        target,
      );
      expect(readFileSync(file, 'utf8')).toBe(text);
    }
  });

  it('is rejected if its digest does not match', async () => {
    const source = path.join(folder, 'changed');
    writeFileSync(source, `${PROGRAM}# changed\n`);
    const target = path.join(folder, 'changed.installed');
    await expect(
      installExecutable({ file: source, sha256: sha256Digest(PROGRAM), bin: 'tool' }, target),
    ).rejects.toMatchObject({
      code: 'digest-mismatch',
      message: `the digest of tool does not match: expected ${sha256Digest(PROGRAM)}, got ${sha256Digest(`${PROGRAM}# changed\n`)}`,
    });
    expect(readdirSync(target)).toEqual([]);
  });

  it('is rejected if it is not a regular file', async () => {
    const pipe = path.join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const file of [pipe, folder]) {
      await expect(
        installExecutable({ file, sha256: sha256Digest(''), bin: 'tool' }, path.join(folder, 'none')),
      ).rejects.toMatchObject({
        code: 'invalid-request',
        message: expect.stringContaining('not a regular file'),
      });
    }
  });

  it('is not installed in a folder that others can write', async () => {
    const source = path.join(folder, 'program');
    writeFileSync(source, PROGRAM);
    const open = mkdtempSync(path.join(folder, 'open-'));
    chmodSync(open, 0o777);
    const link = path.join(folder, 'link');
    symlinkSync(open, link);
    for (const [target, reason] of [
      [open, 'other users can write to it'],
      [link, 'it is not a folder'],
    ] as const) {
      await expect(
        installExecutable({ file: source, sha256: sha256Digest(PROGRAM), bin: 'tool' }, target),
      ).rejects.toMatchObject({
        code: 'untrusted',
        message: `cannot install executables in ${target}: ${reason}`,
      });
    }
  });
});

const gzip = (...entries: Parameters<typeof tarArchive>[0]) => gzipSync(tarArchive(entries));
const zip = (...entries: ZipEntry[]) => zipArchive(entries);
const LINK = 0o120_777;

describe('a hostile archive', () => {
  it.each<
    [
      string,
      Buffer | string,
      { code?: string; message: RegExp; bin?: string; limits?: Partial<ExecutableLimits> },
    ]
  >([
    [
      'with an absolute path',
      gzip(tool, { path: '/etc/passwd', content: 'x' }),
      { message: /absolute path "\/etc\/passwd"/ },
    ],
    ['with a path of Windows', gzip(tool, { path: 'C:\\tool', content: 'x' }), { message: /absolute path/ }],
    [
      'with `..`',
      gzip(tool, { path: '../tool', content: 'x' }),
      { message: /"\.\.\/tool" is outside the archive/ },
    ],
    [
      'with `..` inside',
      gzip(tool, { path: 'a/../../tool', content: 'x' }),
      { message: /is outside the archive/ },
    ],
    [
      'with `..` of Windows',
      gzip(tool, { path: '..\\tool', content: 'x' }),
      { message: /is outside the archive/ },
    ],
    [
      'with `..` after the program',
      gzip({ path: 'x', content: 'x' }, tool, { path: '../../x' }),
      { message: /is outside the archive/ },
    ],
    [
      'with `..` in metadata',
      gzip(
        { path: 'pax', type: 'x', content: paxRecord('path', '../tool') },
        { path: 'tool', content: 'x' },
        tool,
      ),
      { message: /is outside the archive/ },
    ],
    [
      'with a link out',
      gzip(tool, { path: 'up', type: '2', link: '../..' }),
      { message: /link "up" to "\.\.\/\.\.", which is outside/ },
    ],
    [
      'with an absolute link',
      gzip(tool, { path: 'root', type: '2', link: '/' }),
      { message: /link "root" to "\/"/ },
    ],
    [
      'with a link that goes out and back',
      gzip(tool, { path: 'a/b', type: '2', link: '../../x/tool' }),
      { message: /is outside the archive/ },
    ],
    [
      'with a hard link out',
      gzip(tool, { path: 'key', type: '1', link: '../../.ssh/id' }),
      { message: /is outside the archive/ },
    ],
    [
      'with a hard link to an absolute path',
      gzip(tool, { path: 'key', type: '1', link: '/etc/shadow' }),
      { message: /absolute path/ },
    ],
    [
      'whose program is a link',
      gzip({ path: 'tool', type: '2', link: 'other' }),
      { message: /"tool" is a link to "other"/ },
    ],
    [
      'whose program is a hard link',
      gzip({ path: 'other', content: 'x' }, { path: 'tool', type: '1', link: 'other' }),
      { message: /"tool" is a link/ },
    ],
    ['with a device', gzip(tool, { path: 'sda', type: '3' }), { message: /"sda" is not a file/ }],
    ['with a named pipe', gzip(tool, { path: 'pipe', type: '6' }), { message: /"pipe" is not a file/ }],
    ['with an unknown type', gzip(tool, { path: 'odd', type: 'Z' }), { message: /"odd" is not supported/ }],
    [
      'with the program twice',
      gzip(tool, { path: './tool', content: 'other' }),
      { message: /has "tool" twice/ },
    ],
    [
      'without the program',
      gzip({ path: 'other', content: 'x' }),
      { code: 'not-found', message: /has no file "tool"/ },
    ],
    [
      'whose program is a folder',
      gzip({ path: 'tool/', type: '5' }),
      { code: 'not-found', message: /has no file "tool"/ },
    ],
    [
      'with a control character',
      gzip(tool, { path: 'a\u001b[2Jb', content: 'x' }),
      { message: /"a�\[2Jb" with a control character/ },
    ],
    [
      'with too many entries',
      gzip(...Array.from({ length: 11 }, (_, at) => ({ path: `f${at}` })), tool),
      { limits: { maxEntries: 10 }, message: /more than 10 entries/ },
    ],
    [
      'with too much content',
      gzip({ path: 'big', content: Buffer.alloc(100_000, 'x') }, tool),
      { limits: { maxUnpackedBytes: 50_000 }, message: /more than 50000 bytes/ },
    ],
    [
      'that is a bomb',
      gzip({ path: 'zeros', content: Buffer.alloc(10_000_000) }, tool),
      { message: /more than 200 times as large/ },
    ],
    [
      'that is compressed twice',
      gzipSync(gzip(tool)),
      { code: 'unsupported-media-type', message: /content of the gzip file/ },
    ],
    [
      'that is a compressed program',
      gzipSync(PROGRAM),
      { code: 'unsupported-media-type', message: /content of the gzip file/ },
    ],
    [
      'with large metadata',
      gzip({ path: 'pax', type: 'x', content: paxRecord('comment', 'x'.repeat(70_000)) }, tool),
      { message: /"pax" is not supported/, limits: { maxRatio: 10_000 } },
    ],
    [
      'that is cut off',
      gzip(tool, { path: 'rest', content: Buffer.from('x'.repeat(5_000)) }).subarray(0, 90),
      { message: /is corrupt/ },
    ],
    ['that ends inside of the program', tarArchive([{ ...tool, size: 5_000 }]), { message: /is corrupt/ }],
    [
      'with a wrong checksum',
      tarArchive([{ path: 'first' }, { ...tool, isDamaged: true }]),
      { message: /is corrupt/ },
    ],
    [
      'of another kind',
      Buffer.from('fd377a585a0000', 'hex'),
      { code: 'unsupported-media-type', message: /unsupported type of archive/ },
    ],
    [
      'that is text',
      'cat\n',
      { code: 'unsupported-media-type', message: /neither a program nor an archive/ },
    ],
    ['that is empty', '', { code: 'unsupported-media-type', message: /neither a program nor an archive/ }],
    [
      'that is too large',
      gzip(tool),
      { code: 'too-large', limits: { maxSourceBytes: 20 }, message: /more than 20 bytes/ },
    ],
    ['zip: with an absolute path', zip(tool, { path: '/etc/passwd' }), { message: /cannot unpack/ }],
    ['zip: with `..`', zip(tool, { path: 'a/../../tool' }), { message: /cannot unpack/ }],
    [
      'zip: with a link out',
      zip(tool, { path: 'up', content: '../..', mode: LINK }),
      { message: /link "up" to "\.\.\/\.\."/ },
    ],
    [
      'zip: with a link that is too long',
      zip(tool, { path: 'up', content: 'x'.repeat(2_000), mode: LINK }),
      { message: /link "up" is too long/ },
    ],
    [
      'zip: whose program is a link',
      zip({ path: 'tool', content: 'other', mode: LINK }),
      { message: /"tool" is a link/ },
    ],
    ['zip: with a device', zip(tool, { path: 'sda', mode: 0o060_000 }), { message: /"sda" is not a file/ }],
    ['zip: with the program twice', zip(tool, { ...tool, content: 'other' }), { message: /"tool" twice/ }],
    ['zip: without the program', zip({ path: 'other' }), { code: 'not-found', message: /no file "tool"/ }],
    [
      'zip: with a wrong checksum',
      zip({ ...tool, checksum: 1 }),
      { message: /checksum of "tool" does not match/ },
    ],
    ['zip: that states a smaller size', zip({ ...tool, size: 3 }), { message: /is corrupt/ }],
    ['zip: that states a larger size', zip({ ...tool, size: 300 }), { message: /is corrupt/ }],
    ['zip: that is encrypted', zip({ ...tool, isEncrypted: true }), { message: /is corrupt/ }],
    [
      'zip: that is a bomb',
      zip({ path: 'tool', content: Buffer.alloc(10_000_000) }),
      { message: /more than 200 times/ },
    ],
    [
      'zip: with too many entries',
      zip(tool, { path: 'a' }, { path: 'b' }),
      { limits: { maxEntries: 2 }, message: /more than 2 entries/ },
    ],
    ['zip: that is cut off', zip(tool).subarray(0, 60), { message: /is corrupt/ }],
  ])('%s is rejected', async (_, bytes, { code = 'invalid-document', message, ...options }) => {
    const outcome = await install(bytes, options);
    expect(outcome).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.each([
    '',
    '/tool',
    '../tool',
    'a/../../tool',
    'a\\tool',
    'C:tool',
    'bin/',
    '.',
    '-rf',
    'a\0b',
    'x'.repeat(300),
  ])('cannot have the program %j', async (bin) => {
    const source = path.join(folder, 'program');
    writeFileSync(source, PROGRAM);
    await expect(
      installExecutable({ file: source, sha256: sha256Digest(PROGRAM), bin }, path.join(folder, 'never')),
    ).rejects.toMatchObject({ code: 'invalid-document' });
    expect(readdirSync(folder)).not.toContain('never');
  });
});
