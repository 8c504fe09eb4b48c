import { readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { GROUP } from '../testing/proxied-registry.js';
import { rangedPackage } from '../testing/ranged-package.js';

/** Packages that accept only some releases of the functions of a catalog. */

const { opened, file, lockText, locked, run, lock, explain, runs, settings, pack, publish, lie, pin } =
  rangedPackage();

describe('a range of releases', () => {
  it('chooses the newest release of the history, which is locked and runs', async () => {
    await publish('Range', '1.0.0', '1.1.0', '1.2.0', '1.2.1', '2.0.0');
    await pack('Range');
    await settings('functions: [{kind: Range, release: ~1.2}]\n');
    expect((await runs()).release).toBe('1.2.1');
    const io = await lock();
    expect([io.exitCode, await locked()]).toEqual([0, '1.2.1']);
    const text = await lockText();
    expect(text).toMatch(
      /kind: Range\n {2}serial: \d+\n {2}range: "~1.2"\n {2}release: "1.2.1"\n {2}definition/,
    );
    expect(text).toContain('image: registry.example.com/range@');
    expect((await explain()).said).toContain('locked');
    expect((await runs()).release).toBe('1.2.1');
    expect((await lock('--check')).exitCode).toBe(0);
    // An upgrade stays in the range.
    await publish('Range', '1.2.2', '2.1.0');
    expect((await lock('--check')).exitCode).toBe(0);
    expect(await lockText()).toBe(text);
  });

  it('keeps the bytes of the lock, and is upgraded inside', async () => {
    await publish('Inside', '1.2.0', '1.2.1');
    await pack('Inside', { range: '~1.2' });
    await lock();
    const text = await lockText();
    await publish('Inside', '1.2.2', '1.3.0');
    expect([(await lock()).exitCode, await lockText()]).toEqual([0, text]);
    expect((await lock('--upgrade')).exitCode).toBe(0);
    expect(await locked()).toBe('1.2.2');
    const upgraded = await lockText();
    expect((await lock('--upgrade', 'Inside')).exitCode).toBe(0);
    expect(await lockText()).toBe(upgraded);
  });

  it('asks for nothing more where the catalog has a release in it', async () => {
    await publish('Cheap', '1.2.0');
    await pack('Cheap', { range: '^1' });
    expect((await lock()).exitCode).toBe(0);
    expect(await locked()).toBe('1.2.0');
    expect(opened.paths().filter((one) => one.endsWith('/releases'))).toEqual([]);
  });

  it('that changed is noticed, and the function is resolved again', async () => {
    await publish('Changed', '1.0.0', '1.1.0', '2.0.0');
    await pack('Changed');
    await lock();
    const before = await lockText();
    await settings('functions: [{kind: Changed, release: ">=2"}]\n');
    // The locked release is in the range: only what was asked changes.
    const check = await lock('--check');
    expect([check.exitCode, check.out()]).toEqual([1, expect.stringContaining('+  range: ">=2"')]);
    expect((await runs()).release).toBe('2.0.0');
    await settings('functions: [{kind: Changed, release: "~1.0"}]\n');
    const refused = await explain();
    expect([refused.exitCode, refused.said]).toEqual([
      3,
      expect.stringMatching(
        /release 2\.0\.0 is locked, which is not in the range ~1\.0[\s\S]*krmhub lock app/,
      ),
    ]);
    expect((await explain('--frozen')).exitCode).toBe(3);
    expect((await lock('--check')).exitCode).toBe(1);
    expect(await lockText()).toBe(before);
    expect((await lock()).exitCode).toBe(0);
    expect(await locked()).toBe('1.0.0');
    await rm(file('krmhub.yaml'));
    expect((await lock('--check')).exitCode).toBe(1);
    expect((await lock()).exitCode).toBe(0);
    expect([await locked(), (await lockText()).includes('range')]).toEqual(['1.0.0', false]);
  });

  it('of the functionConfig takes precedence, and several of one kind must agree', async () => {
    await publish('Several', '1.0.0', '1.1.0', '1.2.0');
    await pack('Several', { range: '1.0.x' });
    await settings('functions: [{kind: Several, release: 1.1.x}]\n');
    expect((await runs()).release).toBe('1.0.0');
    const one = await readFile(file('fn.yaml'), 'utf8');
    await writeFile(
      file('fn.yaml'),
      `${one}---\n${one.replace('1.0.x', '1.2.x').replace('name: fn', 'name: b')}`,
    );
    const io = await lock();
    expect([io.exitCode, io.said]).toEqual([
      1,
      expect.stringContaining(
        `app/fn.yaml:5:1: ${GROUP}/v1 Several has the range 1.2.x here and 1.0.x in app/fn.yaml:1`,
      ),
    ]);
  });

  it('is refused where it is none, and where no release is in it', async () => {
    await publish('Refused', '1.0.0', '1.1.0-rc.1');
    await pack('Refused', { range: 'newest' });
    expect((await lock()).said).toContain('krmhub.dev/release: "newest" is not a release range');
    await pack('Refused', { range: '1.0' });
    const unquoted = (await readFile(file('fn.yaml'), 'utf8')).replace(/(release: )["']?1.0["']?/, '$11.0');
    await writeFile(file('fn.yaml'), unquoted);
    const number = await lock();
    expect([number.exitCode, number.said]).toEqual([
      1,
      expect.stringMatching(/fn\.yaml:\d+:\d+: .*krmhub.dev\/release is not a string: quote it/),
    ]);
    await pack('Refused', { range: '~3' });
    const io = await lock();
    expect([io.exitCode, io.said]).toEqual([
      3,
      expect.stringMatching(/no release for the range ~3: the catalog has none\n {2}hint: Change the range/),
    ]);
    await pack('Refused', { range: '^1.1.0' });
    expect((await lock()).exitCode).toBe(3);
    await pack('Refused');
    await symlink('nowhere', file('krmhub.yaml'));
    const broken = await lock();
    expect([broken.exitCode, broken.said]).toEqual([3, expect.stringMatching(/cannot read .*krmhub\.yaml/)]);
    await rm(file('krmhub.yaml'));
    await settings('functions: [{kind: Refuse, release: ^1}, {kind: Refused, release: ^1}]\n');
    const unused = await lock();
    expect([unused.exitCode, unused.said]).toEqual([
      0,
      expect.stringContaining(
        'warning: krmhub.yaml: no functionConfig of the package is a Refuse, so its range ',
      ),
    ]);
    expect(unused.said).not.toContain('a Refused,');
    await rm(file('krmhub.lock'));
    await settings('functions: [{kind: Refused, release: 1}]\n');
    const invalid = await lock();
    expect([invalid.exitCode, invalid.said]).toEqual([1, expect.stringContaining('krmhub.yaml:3:')]);
    await rename(file('krmhub.yaml'), file('krmhub.yml'));
    const misnamed = await lock();
    expect([misnamed.exitCode, misnamed.said]).toEqual([
      1,
      expect.stringMatching(
        /cannot read the settings .*krmhub\.yml: .*\n {2}hint: Rename it to krmhub\.yaml/,
      ),
    ]);
    await writeFile(file('krmhub.yml'), 'kind: Pipeline\n');
    expect((await lock()).exitCode).toBe(0);
    await rm(file('krmhub.yml'));
  });

  it('is not looked for in another catalog than the first that has the function', async () => {
    await publish('First', '1.0.0', '2.0.0');
    const recipe = (name: string, releases: string) =>
      new TextEncoder().encode(
        `apiVersion: krmhub.dev/v1alpha1\nkind: CatalogRecipe\nmetadata: {name: ${name}}\nspec: {sources: [{name: ours, functions: {release: "${releases}"}}]}\n`,
      );
    await opened.client.applyCatalog('second', recipe('second', '<2'));
    await opened.client.cutCatalog('second');
    const second = `${opened.proxy.url}/catalogs/second`;
    const both = ['--trusted-catalog', second];
    await pack('First', { catalogs: [second, opened.catalogUrl()], range: '^2' });
    const io = await lock(...both);
    expect([io.exitCode, io.said]).toEqual([3, expect.stringContaining(`catalog ${second}: no release for`)]);
    // What a catalog no longer selects does not come back from its history.
    await opened.client.applyCatalog('second', recipe('second', '*'));
    await opened.client.cutCatalog('second');
    expect((await runs(...both)).release).toBe('2.0.0');
    await opened.client.applyCatalog('second', recipe('second', '<2'));
    await opened.client.cutCatalog('second');
    expect((await lock(...both)).exitCode).toBe(3);
  });

  it('decides what `resolve`, `kpt sync`, and `plugins install` use', async () => {
    await publish('Used', '1.0.0', '1.1.0', '2.0.0');
    await pack('Used');
    await settings('functions: [{kind: Used, release: ~1.0}]\n');
    await lock();
    const kinds = ['--kind', `${GROUP}/v1/Used`];
    const named = ['-c', opened.catalogUrl(), '--lock', 'app/krmhub.lock'];
    const resolved = await run(['resolve', `${GROUP}/v1`, 'Used', '-o', 'json', ...named]);
    expect(JSON.parse(resolved.out())).toMatchObject({ release: '1.0.0' });
    await settings('functions: [{kind: Used, release: ~1.1}]\n');
    for (const args of [
      ['resolve', `${GROUP}/v1`, 'Used'],
      ['plugins', 'install', ...kinds],
    ]) {
      const io = await run([...args, ...named]);
      expect([io.exitCode, io.said]).toEqual([3, expect.stringContaining('release 1.0.0 is locked, which')]);
    }
    await rm(file('kustomization.yaml'));
    await rm(file('krmhub.lock'));
    const pipeline = 'pipeline:\n  mutators:\n  - configPath: fn.yaml\n';
    const annotations = `  annotations:\n    krmhub.dev/catalogs: ${opened.catalogUrl()}\n`;
    const head = 'apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\n';
    await writeFile(file('Kptfile'), head + annotations + pipeline);
    const synced = await run(['kpt', 'sync', 'app', '--trusted-catalog', opened.catalogUrl(), '-o', 'json']);
    expect([synced.exitCode, synced.said]).toEqual([0, expect.stringContaining('"release": "1.1.0"')]);
  });

  it('leaves out what was yanked, which runs on where it is locked', async () => {
    await publish('Yanked', '1.0.0', '1.1.0', '2.0.0');
    await pack('Yanked', { range: '^1' });
    await lock();
    expect(await locked()).toBe('1.1.0');
    await opened.client.yank(GROUP, 'Yanked', '1.1.0', 'broken');
    expect((await explain()).said).toContain(`${GROUP}/Yanked@1.1.0 was yanked: broken`);
    expect((await lock('--check')).exitCode).toBe(0);
    const back = await lock('--upgrade');
    expect([back.exitCode, await locked()]).toEqual([0, '1.0.0']);
    expect(back.said).toContain(`the locked ${GROUP}/Yanked@1.1.0 was yanked: broken; 1.0.0 is older`);
    await opened.client.takedown(GROUP, 'Yanked', '1.0.0', { reason: 'malware' });
    const io = await lock('--upgrade');
    expect([io.exitCode, io.said]).toEqual([3, expect.stringContaining('1.1.0 is yanked: broken')]);
  });

  it('needs no network where it is locked', async () => {
    await publish('Offline', '1.0.0', '2.0.0');
    await pack('Offline', { range: '^1' });
    const unlocked = await lock('--offline');
    expect(unlocked.exitCode).not.toBe(0);
    await lock();
    await explain();
    opened.proxy.requests.length = 0;
    for (const option of ['--frozen', '--offline']) {
      expect([(await explain(option)).exitCode, (await runs(option)).release]).toEqual([0, '1.0.0']);
    }
    expect(opened.paths()).toEqual([]);
    await rm(file('krmhub.lock'));
    const io = await explain('--offline');
    expect([io.exitCode, io.said]).toEqual([
      5,
      expect.stringContaining('the releases for the range ^1 are not in the cache, and --offline is set'),
    ]);
  });

  it('is checked with the signature of the snapshot where a key is pinned', async () => {
    await publish('Signed', '1.0.0', '2.0.0');
    await pack('Signed', { range: '^1' });
    await pin();
    const io = await run(['lock', 'app']);
    expect([io.exitCode, await locked()]).toEqual([0, '1.0.0']);
    expect(await lockText()).toMatch(/\n {2}key: sha256:/);
    expect((await run(['explain', 'app', '--frozen'])).exitCode).toBe(0);
    await rm(file('krmhub.lock'));
    // Another snapshot than the signed one.
    opened.proxy.intercept = (request, response) => {
      if (!/snapshots\/\d+\/snapshot\.sigstore\.json/.test(request.url ?? '')) return false;
      response.writeHead(404).end();
      return true;
    };
    const unsigned = await run(['lock', 'app']);
    expect([unsigned.exitCode, unsigned.said]).toEqual([4, expect.stringContaining('it has no signature')]);
  });
});

describe('the minimum age', () => {
  const HOURS = 3_600_000;
  const later = (hours: number) => new Date(Date.now() + hours * HOURS);
  const lockAt = (now: Date) => run(['lock', 'app', '--trusted-catalog', opened.catalogUrl()], now);

  it('leaves out what is too new, and says when it is not', async () => {
    await publish('Young', '1.0.0', '1.1.0');
    await pack('Young');
    await settings('minAge: 72h\n');
    const io = await lock();
    expect([io.exitCode, io.said]).toEqual([
      3,
      expect.stringMatching(
        /no release for minAge 72h: 1\.1\.0 is too new: old enough at \d{4}-.*Z; 1\.0\.0 is too new.*\n {2}hint: Wait, or lock it all the same: krmhub lock PATH --ignore-min-age KIND/,
      ),
    ]);
    expect((await lockAt(later(73))).exitCode).toBe(0);
    expect(await locked()).toBe('1.1.0');
    expect(await lockText()).not.toContain('serial: 2\n  release');
    // What is locked runs at any time.
    expect((await explain()).exitCode).toBe(0);
    expect((await lock('--check')).exitCode).toBe(0);
  });

  it('chooses an older release, and names the one that it skips', async () => {
    await publish('Older', '1.0.0', '1.1.0');
    await pack('Older');
    await settings('minAge: 72h\n');
    lie((releases) => {
      releases[1]!.publishedAt = '2020-01-01T00:00:00.000Z';
    });
    const io = await lock();
    expect([io.exitCode, await locked()]).toEqual([0, '1.0.0']);
    expect(io.said).toContain(`${GROUP}/Older@1.1.0 is too new for minAge 72h: old enough at `);
    await settings(`minAge: 72h\nexempt: ["*.example.com"]\n`);
    expect((await lock('--upgrade')).exitCode).toBe(0);
    expect(await locked()).toBe('1.1.0');
  });

  it('is ignored on request, which the lock records', async () => {
    await publish('Ignored', '1.0.0', '1.1.0');
    await pack('Ignored');
    await settings('minAge: 3d\n');
    const unknown = await lock('--ignore-min-age', 'Other');
    expect([unknown.exitCode, unknown.said]).toEqual([2, expect.stringContaining('Other')]);
    const io = await lock('--ignore-min-age', 'Ignored');
    expect([io.exitCode, await locked()]).toEqual([0, '1.1.0']);
    const text = await lockText();
    expect(text).toMatch(
      /release: "1.1.0"\n {2}ignoredMinAge:\n {4}minAge: "3d"\n {4}publishedAt: "\d{4}-[^"]*Z"\n {2}definition/,
    );
    expect((await lock('--check')).exitCode).toBe(0);
    expect((await explain()).exitCode).toBe(0);
    // An upgrade does not go back to an older release, and the record stays.
    expect((await lock('--upgrade')).exitCode).toBe(0);
    expect(await lockText()).toBe(text);
  });

  it('cannot be checked without a registry', async () => {
    await publish('Plain', '1.0.0', '2.0.0');
    const { bytes } = await opened.client.catalogDocument('default');
    await pack('Plain', { catalogs: ['../catalog.yaml'] });
    await writeFile(path.join(opened.folder, 'catalog.yaml'), bytes);
    const from = ['--trusted-catalog', 'catalog.yaml'];
    expect((await lock(...from)).exitCode).toBe(0);
    await rm(file('krmhub.lock'));
    for (const text of ['minAge: 72h\n', 'functions: [{kind: Plain, release: ^1}]\n']) {
      await settings(text);
      const io = await lock(...from);
      expect([io.exitCode, io.said]).toEqual([
        3,
        expect.stringMatching(
          /it does not say which release it has, so (?:minAge 72h|the range \^1) cannot be/,
        ),
      ]);
    }
    // A snapshot has the release that it has.
    const { newest } = await opened.client.catalog('default');
    const snapshot = `${opened.catalogUrl()}/snapshots/${newest!.serial}/catalog.yaml`;
    await pack('Plain', { catalogs: [snapshot], range: '^1' });
    await pin();
    const fixed = await run(['lock', 'app']);
    expect([fixed.exitCode, fixed.said]).toEqual([
      3,
      expect.stringContaining('it has 2.0.0, which is not in the range ^1, and nothing else'),
    ]);
  });
});
