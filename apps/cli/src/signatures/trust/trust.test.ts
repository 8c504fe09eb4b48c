import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { findPin } from '@krmhub/consume/trust/pinned-catalogs';
import { type KrmhubError, readPublicKey } from '@krmhub/schema';
import { beforeEach, describe, expect, it } from 'vitest';
import { expectEnd, runTest, temporaryFolder } from '../../testing/command-line.js';

const root = temporaryFolder();

let cwd: string;
let file: string;
beforeEach(() => {
  cwd = mkdtempSync(path.join(root, 'user-'));
  file = path.join(cwd, '.config/krmhub/trust.yaml');
  for (const name of ['a', 'b']) writeFileSync(path.join(cwd, `${name}.pub`), newKey());
});

function newKey(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return String(publicKey.export({ type: 'spki', format: 'pem' }));
}

const run = (args: string[], options: object = {}) =>
  runTest(['trust', ...args], { cwd, env: { HOME: cwd }, ...options });
const read = () => readFileSync(file, 'utf8');
const fingerprint = (name: string) =>
  readPublicKey(readFileSync(path.join(cwd, `${name}.pub`), 'utf8'), name).fingerprint;

async function does(...args: string[]) {
  const io = await run(args);
  expect([io.exitCode, io.err()]).toEqual([0, expect.any(String)]);
  return io;
}

async function fails(code: number, ...args: string[]) {
  const io = await run(args);
  expectEnd(io, code, 'hint:');
  expect(io.err()).not.toContain('fault of krmhub');
  return io.err();
}

describe('krmhub trust add', () => {
  it('writes a policy next to the credentials, readable only for the user', async () => {
    await does(
      'add',
      'example',
      '--group',
      'example.com,*.example.org',
      '--key',
      'a.pub',
      '--valid-until',
      '2030-01-31',
    );
    expect([statSync(file).mode & 0o777, statSync(path.dirname(file)).mode & 0o777]).toEqual([0o600, 0o700]);
    const { policies } = JSON.parse((await does('list', '-o', 'json')).out());
    expect(policies).toMatchObject([
      {
        name: 'example',
        groups: ['example.com', '*.example.org'],
        signers: [{ fingerprint: fingerprint('a'), validUntil: '2030-01-31T00:00:00.000Z' }],
      },
    ]);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  it('accepts identities, and policies from files and stdin', async () => {
    await does(
      'add',
      'ci',
      '--group',
      'example.com',
      '--issuer',
      'https://i.example.com',
      '--identity-pattern',
      '^ci-[0-9]+$',
    );
    const other = path.join(cwd, 'other.yaml');
    writeFileSync(other, read().replace('name: ci', 'name: copied'));
    await does('add', other);
    const io = await run(['add', '-'], { stdin: read().replace('name: ci', 'name: piped').split('---')[1] });
    expect(io.exitCode).toBe(0);
    expect(
      (await does('list'))
        .out()
        .split('\n')
        .map((line) => line.split('\t')[0]),
    ).toEqual(['ci', 'copied', 'piped', '']);
  });

  it('replaces a policy only on request, and reports the change', async () => {
    await does('add', 'example', '--group', 'example.com', '--key', 'a.pub');
    const before = read();
    expect((await does('add', 'example', '--group', 'example.com', '--key', 'a.pub')).err()).toContain(
      'unchanged: example',
    );
    const said = await fails(1, 'add', 'example', '--group', 'example.com', '--key', 'b.pub');
    expect(said).toContain(`- the key ${fingerprint('a')}`);
    expect(said).toContain(`+ the key ${fingerprint('b')}`);
    expect(read()).toBe(before);
    await does('add', 'example', '--group', 'example.com', '--key', 'b.pub', '--replace');
    expect(read()).not.toContain(readFileSync(path.join(cwd, 'a.pub'), 'utf8').split('\n')[1]);
  });

  it('warns about an entry that is too broad, also from a file', async () => {
    const issuer = ['--issuer', 'https://i.example.com'];
    const wide = await does(
      'add',
      'wide',
      '--group',
      '*example.com',
      ...issuer,
      '--identity-pattern',
      '^.*$',
    );
    expect(wide.err()).toContain('also covers attackerexample.com');
    expect(wide.err()).toContain('also trusts every subject of its issuer, for example https://');
    const other = path.join(cwd, 'wide.yaml');
    writeFileSync(other, read().replace('name: wide', 'name: copied'));
    expect((await does('add', other)).err()).toMatch(/wide\.yaml:\d+:\d+[\s\S]*also trusts every subject/);
    expect((await does('add', 'good', '--group', 'example.com', '--key', 'a.pub')).err()).not.toContain(
      'warning',
    );
  });

  it.each([
    ['a signer is required', []],
    ['--issuer is required with --identity', ['--identity', 'ci@example.com']],
    ['--issuer is required with --identity', ['--require', 'repositoryId=1']],
    [
      '--require repositoryId is not FIELD=VALUE',
      ['--issuer', 'https://i.example.com', '--require', 'repositoryId'],
    ],
    [
      'Did you mean --require repositoryId=1?',
      ['--issuer', 'https://i.example.com', '--require', 'repositoryID=1'],
    ],
    ['`issuer` requires `subject`', ['--issuer', 'https://i.example.com', '--require', 'ref=refs/tags/*']],
    [
      'is not the branch or tag',
      ['--issuer', 'https://i.example.com', '--require', 'ref=main', '--identity', 'a'],
    ],
    ['--key cannot be combined with --issuer', ['--key', 'a.pub', '--require', 'repositoryId=1']],
    ['--issuer is required with --identity', ['--identity-pattern', '^ci@example\\.com$']],
    ['--identity or --identity-pattern is required with --issuer', ['--issuer', 'https://i.example.com']],
    ['cannot be combined with', ['--issuer', 'https://i', '--identity', 'a', '--identity-pattern', '^a$']],
    ['--key cannot be combined with --issuer', ['--key', 'a.pub', '--issuer', 'https://i.example.com']],
    [
      '--key cannot be combined with --issuer, --identity',
      ['--key', 'a.pub', '--identity', 'ci@example.com'],
    ],
  ])('says what is missing or too much: %s', async (message, args) => {
    expect(await fails(2, 'add', 'example', '--group', 'example.com', ...args)).toContain(message);
  });

  it('requires what the certificate states', async () => {
    const source = ['--require', 'repositoryId=123', '--require', 'ref=refs/tags/v*=1'];
    await does('add', 'ci', '--group', 'example.com', '--issuer', 'https://i.example.com', ...source);
    expect(read()).toMatch(/repositoryId: "123"\n\s+ref: "refs\/tags\/v\*=1"/);
    expect((await does('list')).out()).toContain('any subject (https://i.example.com) with repositoryId 123');
  });

  it('keeps manual edits', async () => {
    await does('add', 'first', '--group', 'example.com', '--key', 'a.pub');
    writeFileSync(file, `# ours\n${read()}\n# why: a friend\n`);
    await does('add', 'second', '--group', 'example.com', '--key', 'b.pub');
    await does('remove', 'second');
    expect(read()).toContain('# ours\n');
    expect(read()).toContain('# why: a friend\n');
    await does('remove', 'first');
    expect((await does('list')).err()).toContain('no trusted signers in ');
  });

  it('changes only what is replaced, in the notation of the file', async () => {
    await does('add', 'first', '--group', 'example.com', '--key', 'a.pub', '--valid-until', '2030-01-01');
    await does('add', 'second', '--group', 'example.com', '--key', 'b.pub');
    const edited = read()
      .replace('# Signers', '\ufeff# License\n\n---\n# Signers')
      .replace('metadata:\n  name: first\n', "metadata: { name:  'first' } # a friend\n")
      .replace(/validUntil: .*/, (line) => `${line} # renew`)
      .replaceAll('\n', '\r\n');
    expect(edited).toContain('{ name:');
    writeFileSync(file, edited);
    const until = ['--key', 'a.pub', '--valid-until', '2031-01-01', '--replace'];
    await does('add', 'first', '--group', 'example.com', ...until);
    expect(read()).toBe(edited.replace('2030-01-01', '2031-01-01'));
    await does('remove', 'second');
    expect(edited.replace('2030-01-01', '2031-01-01').startsWith(read())).toBe(true);
    expect(read()).toMatch(/# renew\r\n$/);
  });

  it.each([
    [2, 'nobody', ['example', '--group', 'example.com']],
    [
      2,
      'two kinds',
      ['example', '--group', 'example.com', '--key', 'a.pub', '--issuer', 'https://i.example.com'],
    ],
    [2, 'half an identity', ['example', '--group', 'example.com', '--issuer', 'https://i.example.com']],
    [
      2,
      'a pattern that is open',
      ['example', '--group', 'a.b', '--issuer', 'https://i', '--identity-pattern', 'ci'],
    ],
    [2, 'no name', ['No Name', '--group', 'example.com', '--key', 'a.pub']],
    [2, 'no time', ['example', '--group', 'example.com', '--key', 'a.pub', '--valid-until', 'soon']],
    [2, 'a key for nothing', ['example', '--key', 'a.pub']],
    [2, 'a catalog without a key', ['https://mirror.example.com/krm']],
    [
      2,
      'a catalog with a password',
      ['https://user:secret@krm.example.com/catalogs/default', '--key', 'a.pub'],
    ],
    [3, 'no file', ['nowhere.yaml']],
    [1, 'a file that is not a policy', ['a.pub']],
  ])('ends with %i for %s, and with a way out', async (code, _, args) => {
    expect(await fails(code, 'add', ...args)).not.toContain('secret');
    expect(existsSync(file)).toBe(false);
  });
});

describe('the file', () => {
  it.skipIf(process.platform === 'win32')('is not believed where others can write it', async () => {
    await does('add', 'example', '--group', 'example.com', '--key', 'a.pub');
    chmodSync(file, 0o664);
    expect(await fails(1, 'list')).toContain('chmod 600');
    await fails(1, 'add', 'more', '--group', 'example.com', '--key', 'a.pub');
  });

  it('is rejected with a position if it is invalid', async () => {
    await does('add', 'example', '--group', 'example.com', '--key', 'a.pub');
    writeFileSync(file, read().replace('signers:', 'signer:'));
    expect(await fails(1, 'list')).toMatch(/trust\.yaml:\d+:\d+/);
    expect(await fails(1, 'remove', 'example')).toMatch(/trust\.yaml:\d+:\d+/);
    rmSync(file);
    symlinkSync('nowhere', file);
    await fails(1, 'list');
  });

  it('stays a symbolic link', async () => {
    const kept = path.join(cwd, 'kept.yaml');
    writeFileSync(kept, '# mine\n', { mode: 0o600 });
    mkdirSync(path.dirname(file), { recursive: true });
    symlinkSync(kept, file);
    await does('add', 'example', '--group', 'example.com', '--key', 'a.pub');
    expect(readFileSync(kept, 'utf8')).toContain('name: example');
  });
});

describe('a pinned catalog', () => {
  const url = 'https://krm.example.com/catalogs/default';

  it('has the currently valid keys, for any spelling of its URL', async () => {
    await does('add', `${url}/catalog.yaml`, '--key', 'a.pub', '--valid-until', '2026-01-01');
    writeFileSync(
      file,
      `${read().trimEnd()}\n  - key: |\n${readFileSync(path.join(cwd, 'b.pub'), 'utf8').trimEnd().replace(/^/gm, '      ')}\n`,
    );
    const at = (now: string) => findPin({ env: { HOME: cwd }, cwd, now: () => new Date(now) }, `${url}/`);
    const names = async (now: string) => (await at(now))?.keys.map((key) => key.fingerprint);
    expect(await names('2025-06-01T00:00:00Z')).toEqual([fingerprint('a'), fingerprint('b')]);
    expect(await names('2026-06-01T00:00:00Z')).toEqual([fingerprint('b')]);
    const io = { env: { HOME: cwd }, cwd, now: () => new Date() };
    expect(await findPin(io, 'https://krm.example.com/catalogs/other')).toBeUndefined();
    writeFileSync(file, '');
    await expect(findPin(io, url)).rejects.toMatchObject({
      code: 'untrusted',
    } satisfies Partial<KrmhubError>);
  });

  it('is pinned only once', async () => {
    await does('add', url, '--key', 'a.pub');
    expect((await does('list')).out()).toContain(
      `krm-example-com-default\tcatalog ${url}\tthe key ${fingerprint('a')}`,
    );
    expect(await fails(1, 'add', url, '--key', 'b.pub', '--name', 'other')).toContain(
      '--name krm-example-com-default',
    );
    await does('add', url, '--key', 'a.pub', '--key', 'b.pub', '--replace');
  });
});
