import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { createLog, readConfig, startRegistry } from '@krmhub/registry';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  expectEnd,
  firstSnapshot,
  runTest,
  type TestIoOptions,
  temporaryFolder,
} from '../testing/command-line.js';

const FIXTURE = fileURLToPath(
  new URL('../../../../test/fixtures/functions/set-labels/1.0.0.yaml', import.meta.url),
);

const folder = temporaryFolder();
let cwd: string;
let number = 0;

/** A folder with one published release, made once. */
beforeAll(async () => {
  const data = path.join(folder, 'whole');
  const registry = await startRegistry({
    config: readConfig({}, { host: '127.0.0.1', port: '0', data }),
    log: createLog('silent', { write: () => undefined }),
  });
  await firstSnapshot(registry.url);
  const token = (await readFile(registry.adminTokenFile, 'utf8')).trim();
  const readme = path.join(folder, 'README.md');
  // Files of this size are blobs, not rows.
  const padding = '# large\n'.repeat(10_000);
  await writeFile(readme, `# SetLabels\n${padding}`);
  const definition = path.join(folder, 'set-labels.yaml');
  await writeFile(definition, (await readFile(FIXTURE, 'utf8')) + padding);
  const published = await runTest(['publish', definition, '--readme', readme], {
    env: { KRMHUB_REGISTRY: registry.url, KRMHUB_TOKEN: token },
  });
  expect([published.exitCode, published.err()]).toEqual([0, expect.any(String)]);
  const reference = `${new URL(registry.url).host}/team/set-labels:v1`;
  const auth = Buffer.from(`krmhub:${token}`).toString('base64');
  await writeFile(
    path.join(folder, 'config.json'),
    JSON.stringify({ auths: { [new URL(registry.url).host]: { auth } } }),
  );
  const pushed = await runTest(['push', definition, reference], { env: { DOCKER_CONFIG: folder } });
  expect([pushed.exitCode, pushed.err()]).toEqual([0, expect.any(String)]);
  await registry.close();
});
beforeEach(async () => {
  cwd = path.join(folder, `run-${number++}`);
  await cp(path.join(folder, 'whole'), path.join(cwd, 'data'), { recursive: true });
});

const run = (args: string[], options: TestIoOptions = {}) => runTest(args, { cwd, ...options });
const blobs = async (below: string) => {
  const at = path.join(cwd, below, 'blobs/sha256');
  return (await readdir(at, { recursive: true }))
    .filter((name) => name.length > 3)
    .map((name) => path.join(at, name));
};

describe('fsck', () => {
  it('prints what it checked, and that there are no problems', async () => {
    const io = await run(['fsck']);
    expect([io.exitCode, io.out()]).toEqual([0, '']);
    expect(io.err()).toBe(
      `${path.join(cwd, 'data')}: no problems (1 function, 1 release, 2 snapshots, 4 events)\n`,
    );
  });

  it('prints every problem, and exits with 1', async () => {
    for (const blob of await blobs('data')) await writeFile(blob, 'other');
    const io = await run(['fsck', '--data', 'data']);
    expect(io.exitCode).toBe(1);
    const lines = io.out().trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    for (const line of lines)
      expect(line).toMatch(
        /^damage\treleases\tfunctions\.example\.com\/SetLabels@1\.0\.0\tits (definition|README) /,
      );
    expect(io.err()).toContain('2 problems');
    expect(io.err()).toContain('hint: Restore');
    const table = await run(['fsck'], { tty: true, columns: 100 });
    expect(table.out()).toContain('SEVERITY');
  });

  it('prints JSON', async () => {
    const [blob] = await blobs('data');
    await rm(blob!);
    const io = await run(['fsck', '-o', 'json']);
    expect([io.exitCode, JSON.parse(io.out())]).toEqual([
      1,
      {
        whole: false,
        counts: { functions: 1, releases: 1, catalogs: 1, snapshots: 2, events: 4 },
        audit: { sequence: expect.any(Number), hash: expect.stringMatching(/^sha256:/) },
        findings: [
          expect.objectContaining({ check: 'releases', severity: 'damage', hint: expect.any(String) }),
        ],
      },
    ]);
  });

  it('exits with 5 if the folder does not exist', async () => {
    const io = await run(['fsck', '--data', 'elsewhere']);
    expectEnd(io, 5, path.join(cwd, 'elsewhere', 'registry.db'));
    expect(io.err()).toContain('--data');
    expect(await readdir(cwd)).toEqual(['data']);
  });
});

describe('backup and restore', () => {
  it('restore the same registry', async () => {
    const made = await run(['backup', '--out', 'backups/monday', '-o', 'json']);
    expect([made.exitCode, JSON.parse(made.out())]).toEqual([
      0,
      expect.objectContaining({ format: 1, counts: expect.objectContaining({ releases: 1 }) }),
    ]);
    const backup = path.join(cwd, 'backups/monday');
    expect((await readdir(backup)).sort()).toEqual([
      'admin.token',
      'artifacts',
      'backup.json',
      'blobs',
      'copies',
      'keys',
      'registry.db',
    ]);
    // It holds secrets.
    expect((await stat(backup)).mode & 0o077).toBe(0);
    expect((await stat(path.join(backup, 'admin.token'))).mode & 0o077).toBe(0);
    const [key] = await readdir(path.join(backup, 'keys'));
    expect((await stat(path.join(backup, 'keys', key!))).mode & 0o077).toBe(0);
    expect((await run(['fsck', '--data', backup])).exitCode).toBe(0);

    const restored = await run(['restore', 'backups/monday'], { env: { KRMHUB_DATA: 'restored' } });
    expectEnd(restored, 0, '1 release');
    expect((await readdir(path.join(cwd, 'restored'))).sort()).toEqual([
      'admin.token',
      'artifacts',
      'blobs',
      'copies',
      'keys',
      'registry.db',
    ]);
    // The database is the old one, also in what it says about tokens.
    expect(restored.err()).toContain('a token or a signer that was revoked later is valid again');
    expect(restored.err()).toContain('what was made private later is public again');
    for (const list of ['token list', 'user list', 'access show', 'owner list', 'publisher list'])
      expect(restored.err()).toContain(`\`krmhub ${list}\``);
    const checked = await run(['fsck', '--data', 'restored', '-o', 'json']);
    expect(checked.exitCode).toBe(0);
    const head = JSON.parse(made.out()).audit.sequence;
    expect(JSON.parse(checked.out()).audit.sequence).toBe(head + 1);
    expect(await readFile(path.join(cwd, 'restored/admin.token'))).toEqual(
      await readFile(path.join(cwd, 'data/admin.token')),
    );
  });

  it('replace nothing', async () => {
    await mkdir(path.join(cwd, 'there'));
    await writeFile(path.join(cwd, 'there/precious'), '');
    expectEnd(await run(['backup', '--out', 'there']), 2, '--out');
    expect(await readdir(path.join(cwd, 'there'))).toEqual(['precious']);

    expect((await run(['backup', '--out', 'made'])).exitCode).toBe(0);
    expectEnd(await run(['restore', 'made']), 2, 'already contains a registry');
    expect((await run(['fsck'])).exitCode).toBe(0);
  });

  it('accept a folder with other files, such as the root of a disk', async () => {
    expect((await run(['backup', '--out', 'made'])).exitCode).toBe(0);
    await mkdir(path.join(cwd, 'disk/lost+found'), { recursive: true });
    // What a restore that was killed left.
    await mkdir(path.join(cwd, 'disk/restore.unfinished/blobs'), { recursive: true });
    expect((await run(['restore', 'made', '--data', 'disk'])).exitCode).toBe(0);
    expect((await readdir(path.join(cwd, 'disk'))).sort()).toEqual([
      'admin.token',
      'artifacts',
      'blobs',
      'copies',
      'keys',
      'lost+found',
      'registry.db',
    ]);
  });

  it('create no backup of a damaged registry', async () => {
    for (const blob of await blobs('data')) await rm(blob);
    const io = await run(['backup', '--out', 'made']);
    expectEnd(io, 1, 'the copy has 2 problems');
    expect(io.err()).toContain('SetLabels@1.0.0: its definition');
    expect(io.err()).toContain('krmhub fsck');
    expect(await readdir(cwd)).toEqual(['data']);
  });

  it('do not restore a damaged backup or another folder', async () => {
    expect((await run(['backup', '--out', 'made'])).exitCode).toBe(0);
    const manifest = path.join(cwd, 'made/backup.json');
    const text = await readFile(manifest, 'utf8');
    await writeFile(manifest, text.replace(/"sequence": \d+/, '"sequence": 99'));
    expectEnd(await run(['restore', 'made', '--data', 'restored']), 1, 'audit log does not end with row 99');
    await writeFile(manifest, text);
    const [blob] = await blobs('made');
    await writeFile(blob!, 'other');
    expectEnd(await run(['restore', 'made', '--data', 'restored']), 1, 'SetLabels@1.0.0');
    expect(await readdir(path.join(cwd, 'restored'))).toEqual([]);

    const database = path.join(cwd, 'made/registry.db');
    await writeFile(database, Buffer.concat([await readFile(database), Buffer.alloc(4096)]));
    const changed = await run(['restore', 'made', '--data', 'restored']);
    expectEnd(changed, 1, 'registry.db has changed since the backup');

    expectEnd(await run(['restore', 'data', '--data', 'restored']), 2, 'backup.json');
    await writeFile(path.join(cwd, 'made/backup.json'), '{"format": 2}');
    expectEnd(await run(['restore', 'made', '--data', 'restored']), 5, 'later version');
    await writeFile(path.join(cwd, 'made/backup.json'), '{');
    expect((await run(['restore', 'made', '--data', 'restored'])).exitCode).toBe(2);
  });

  it('require a registry and a target folder', async () => {
    expect((await run(['backup'])).exitCode).toBe(2);
    expectEnd(await run(['backup', '--data', 'elsewhere', '--out', 'made']), 5, 'no registry');
    expect(await readdir(cwd)).toEqual(['data']);
    await writeFile(path.join(cwd, 'file'), '');
    expect((await run(['backup', '--out', 'file/made'])).exitCode).toBe(5);
  });
});
