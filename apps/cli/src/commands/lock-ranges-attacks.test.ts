import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { GROUP } from '../testing/proxied-registry.js';
import { type ListedRelease, rangedPackage } from '../testing/ranged-package.js';

/** What a registry says of the history of its catalog is not signed. */

const { opened, file, lockText, locked, run, lock, settings, pack, publish, lie, pin } = rangedPackage();

describe('a registry that lies about its history', () => {
  it.each([
    ['another serial', (one: ListedRelease) => (one.served[0]!.serial! -= 1), /which has 1\.0\.0 as sha256:/],
    ['a serial that it does not have', (one: ListedRelease) => (one.served[0]!.serial = 999_999), /./],
    [
      'another digest',
      (one: ListedRelease) => (one.digest = `sha256:${'0'.repeat(64)}`),
      /it lists 1\.1\.0 as sha256:0000/,
    ],
    ['another release', (one: ListedRelease) => (one.release = '1.9.9'), /it lists 1\.9\.9 as/],
  ])('names %s, and nothing is locked', async (name, change, message) => {
    const kind = `Lie${name.replaceAll(' ', '')}`;
    await publish(kind, '1.0.0', '1.1.0', '2.0.0');
    for (const isPinned of [false, true]) {
      if (isPinned) await pin();
      await pack(kind, { range: '^1' });
      lie((releases) => void change(releases[1]!));
      const io = isPinned ? await run(['lock', 'app']) : await lock();
      expect([io.exitCode !== 0, io.said]).toEqual([true, expect.stringMatching(message)]);
      await expect(lockText()).rejects.toThrow();
      opened.proxy.intercept = () => false;
    }
  });

  it('offers a release that is newer than that of the catalog, and it is not taken', async () => {
    await publish('Newer', '1.0.0', '1.1.0', '2.0.0');
    await pack('Newer', { range: '>=1' });
    await settings('minAge: 1s\n');
    lie((releases) => {
      for (const one of releases) one.publishedAt = '2020-01-01T00:00:00.000Z';
      releases[2]!.release = '3.0.0';
    });
    expect((await lock()).exitCode).toBe(0);
    expect(await locked()).toBe('2.0.0');
  });

  it('hides the locked release, and the lock does not go back', async () => {
    await publish('Back', '1.0.0', '1.1.0', '2.0.0');
    await pack('Back', { range: '^1' });
    await lock();
    const text = await lockText();
    lie((releases) => void releases.splice(1, 1));
    const io = await lock('--upgrade');
    expect([io.exitCode, io.said]).toEqual([
      4,
      expect.stringContaining(
        'it no longer lists the locked release 1.1.0, and offers 1.0.0, which is older',
      ),
    ]);
    expect(await lockText()).toBe(text);
  });

  it('serves a snapshot that was withdrawn, and it is refused', async () => {
    await publish('Withdrawn', '1.0.0', '1.1.0', '2.0.0');
    await publish('Other', '1.0.0');
    await pack('Withdrawn', { range: '~1.1' });
    let serial = 0;
    lie((releases) => {
      serial = releases[1]!.served[0]!.serial!;
    });
    expect((await lock()).exitCode).toBe(0);
    await rm(file('krmhub.lock'));
    await opened.client.takedown(GROUP, 'Withdrawn', '1.1.0', { reason: 'malware' });
    opened.proxy.intercept = () => false;
    const honest = await lock();
    expect([honest.exitCode, honest.said]).toEqual([3, expect.stringContaining('the catalog has none')]);
    lie((releases) => {
      const [first] = releases;
      releases.push({ ...first!, release: '1.1.0', served: [{ version: 'v1', first: serial, serial }] });
    });
    const io = await lock();
    expect([io.exitCode !== 0, io.said]).toEqual([true, expect.stringMatching(/cannot resolve/)]);
  });
});
