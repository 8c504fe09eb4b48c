import { copyFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { OutdatedEntry, OutdatedReport } from '../outdated/outdated-report.js';
import { rangedPackage } from '../testing/ranged-package.js';

/** `krmhub outdated` with ranges and a minimum age, against a real registry: what is wanted is what an upgrade locks. */

const place = rangedPackage();
const { opened, settings, pack, publish, locked } = place;

async function outdated(now?: Date): Promise<OutdatedEntry & { exitCode: number }> {
  const trust = ['--trusted-catalog', opened.catalogUrl()];
  const io = await place.run(['outdated', 'app', '--check', '-o', 'json', ...trust], now);
  const { entries } = JSON.parse(io.out()) as OutdatedReport;
  expect(entries).toHaveLength(1);
  return { ...entries[0]!, exitCode: io.exitCode };
}

/** Upgrades a copy of the lock file, and returns the release. */
async function upgraded(): Promise<string | undefined> {
  await copyFile(place.file('krmhub.lock'), place.file('kept'));
  const io = await place.lock('--upgrade');
  expect(io.exitCode, io.said).toBe(0);
  const release = await locked();
  await copyFile(place.file('kept'), place.file('krmhub.lock'));
  return release;
}

describe('what is wanted', () => {
  it('is the newest release in the range, as an upgrade locks it', async () => {
    await publish('Ranged', '1.0.0');
    await pack('Ranged');
    await place.lock();
    expect(await locked()).toBe('1.0.0');
    await publish('Ranged', '1.0.1', '1.1.0', '2.0.0');
    for (const [range, wanted, state, exitCode] of [
      ['~1.0', '1.0.1', 'behind', 1],
      ['^1', '1.1.0', 'behind', 1],
      ['1.0.0', '1.0.0', 'newer', 0],
      ['*', '2.0.0', 'behind', 1],
    ] as const) {
      await settings(`functions: [{kind: Ranged, release: "${range}"}]\n`);
      const found = await outdated();
      expect(found).toMatchObject({
        range,
        state,
        exitCode,
        locked: { release: '1.0.0' },
        wanted: { release: wanted },
        newest: { release: '2.0.0' },
        changes: ['patch'],
      });
      expect(await upgraded()).toBe(wanted);
    }
    // The annotation takes precedence.
    await pack('Ranged', { range: '~1.0' });
    await settings('functions: [{kind: Ranged, release: "^1"}]\n');
    expect(await outdated()).toMatchObject({
      range: '~1.0',
      state: 'not-locked',
      wanted: { release: '1.0.1' },
    });
    await settings('functions: [{kind: Ranged, release: "^3"}]\n');
    await pack('Ranged', { range: '^3' });
    expect(await outdated()).toMatchObject({ problem: 'no release for the range ^3: the catalog has none' });
  });

  it('is old enough, and says when newer ones are', async () => {
    await publish('Aged', '1.0.0');
    await pack('Aged');
    await place.lock();
    await publish('Aged', '1.1.0');
    await settings('minAge: 72h\n');
    const found = await outdated();
    expect(found).toMatchObject({
      state: 'newer',
      exitCode: 0,
      wanted: { release: '1.0.0' },
      newest: { release: '1.1.0' },
      tooNew: [{ release: '1.1.0', oldEnoughAt: expect.stringMatching(/Z$/) }],
    });
    expect(await upgraded()).toBe('1.0.0');
    const later = new Date(Date.parse(found.tooNew![0]!.oldEnoughAt) + 1_000);
    expect(await outdated(later)).toMatchObject({ state: 'behind', wanted: { release: '1.1.0' } });
    const io = await place.run(['outdated', 'app', '--trusted-catalog', opened.catalogUrl()]);
    expect(io.out()).toContain(`1.1.0 is too new: old enough at ${found.tooNew![0]!.oldEnoughAt}`);
  });

  it('is not yanked, and explain says the same', async () => {
    await publish('Yanked', '1.0.0');
    await pack('Yanked');
    await place.lock();
    await publish('Yanked', '1.1.0', '1.2.0');
    await opened.client.yank('functions.example.com', 'Yanked', '1.2.0', 'broken');
    await expect.poll(async () => (await outdated()).wanted?.release).toBe('1.1.0');
    expect(await outdated()).toMatchObject({ state: 'behind', newest: { release: '1.1.0' } });
    expect(await upgraded()).toBe('1.1.0');
    expect(await place.runs()).toMatchObject({ release: '1.0.0', behind: { release: '1.1.0' } });
    await settings('functions: [{kind: Yanked, release: "~1.0"}]\n');
    expect(await place.runs()).not.toHaveProperty('behind');
  });

  it('is in the snapshot that a reference pins', async () => {
    await publish('Pinned', '1.0.0');
    const { newest } = await opened.client.catalog('default');
    await publish('Pinned', '1.1.0');
    const reference = `${opened.catalogUrl()}/snapshots/${newest!.serial}/catalog.yaml`;
    await pack('Pinned', { catalogs: [reference] });
    const trust = ['--trusted-catalog', reference];
    const lock = await place.run(['lock', 'app', ...trust]);
    expect(lock.exitCode, lock.said).toBe(0);
    const io = await place.run(['outdated', 'app', '--check', '-o', 'json', ...trust]);
    expect([io.exitCode, JSON.parse(io.out()).entries]).toMatchObject([
      0,
      [{ state: 'newer', wanted: { release: '1.0.0' }, newest: { release: '1.1.0' } }],
    ]);
  });

  it('is known of the other packages if a file of one is not valid', async () => {
    await publish('Valid', '1.0.0');
    await pack('Valid');
    await place.lock();
    await settings('minAge: soon\n');
    const trust = ['--trusted-catalog', opened.catalogUrl()];
    const read = async () => {
      const io = await place.run(['outdated', 'app', '-o', 'json', ...trust]);
      const { entries, problems } = JSON.parse(io.out()) as OutdatedReport;
      return [io.exitCode, entries[0]?.state, ...problems.map(({ file, code }) => `${file} ${code}`)];
    };
    expect(await read()).toEqual([1, 'current', 'app/krmhub.yaml settings/age']);
    await settings('');
    await writeFile(place.file('krmhub.lock'), 'kind: Other\n');
    expect(await read()).toEqual([1, 'not-locked', 'app/krmhub.lock lock/document']);
  });
});
