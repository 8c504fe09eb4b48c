import type { RenovateReleases } from '@krmhub/api/renovate-routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { applyAccess } from '../testing/access.js';
import {
  definitionText,
  openTestRegistry,
  releasePath,
  type TestRegistry,
} from '../testing/test-registry.js';
import { renovatePreset } from './renovate-preset.js';

const URL = 'https://krm.example.com/hub';
const kind = 'SetLabels';
const DIGEST = `sha256:${'a'.repeat(64)}`;
const OTHER = `sha256:${'b'.repeat(64)}`;

let registry: TestRegistry;
beforeAll(async () => {
  registry = await openTestRegistry({ config: { publicUrl: URL } });
  for (const release of ['1.0.0', '1.1.0', '1.2.0', '1.3.0', '2.0.0-rc.1']) {
    await registry.publish({ kind, release });
  }
  for (const [release, verb] of [
    ['1.1.0', 'yank'],
    ['1.2.0', 'deprecate'],
  ]) {
    await registry.send('POST', `${releasePath({ kind, release: release! })}/${verb}`, { reason: 'bad' });
  }
  await registry.publish({ kind, release: '1.4.0' });
  await registry.takeDown({ kind, release: '1.4.0' });
});
afterAll(() => registry.close());

const read = async (target: string) => {
  const response = await registry.request(target);
  return { response, ...((await response.json()) as RenovateReleases) };
};

describe('the releases of a function', () => {
  it('have their states, and not those that were taken down', async () => {
    const { response, releases, homepage } = await read(`/api/v1/renovate/example.com/${kind.toLowerCase()}`);
    expect(response.headers.get('content-type')).toBe('application/json');
    const states = releases.map(({ version, isDeprecated, isStable }) => [version, isDeprecated, isStable]);
    expect(states).toEqual([
      ['2.0.0-rc.1', false, false],
      ['1.3.0', false, true],
      ['1.2.0', true, true],
      ['1.1.0', true, false],
      ['1.0.0', false, true],
    ]);
    expect(releases.at(-1)).toEqual({
      version: '1.0.0',
      releaseTimestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      digest: DIGEST,
      isDeprecated: false,
      isStable: true,
      changelogUrl: `${URL}/functions/example.com/${kind}/releases/1.0.0`,
    });
    expect(homepage).toBe(`${URL}/functions/example.com/${kind}`);
  });

  it('change their ETag with their states', async () => {
    await registry.publish({ kind: 'Apply', release: '1.0.0' });
    const target = '/api/v1/renovate/example.com/Apply';
    const etag = (await registry.request(target)).headers.get('etag')!;
    const again = () => registry.request(target, { headers: { 'If-None-Match': etag } });
    expect((await again()).status).toBe(304);
    await registry.send('POST', `${releasePath({ kind: 'Apply', release: '1.0.0' })}/yank`, {
      reason: 'bad',
    });
    const changed = await again();
    expect(changed.status).toBe(200);
    expect(((await changed.json()) as RenovateReleases).releases[0]!.isDeprecated).toBe(true);
  });

  it('have no digest if they run several images, or none by digest', async () => {
    const name = { kind: 'Several', release: '1.0.0', versions: ['v1', 'v1beta1'] };
    const text = definitionText(name);
    const at = text.lastIndexOf('a'.repeat(64));
    await registry.publish(name, undefined, {
      text: `${text.slice(0, at)}${'b'.repeat(64)}${text.slice(at + 64)}`,
    });
    const bare = { kind: 'Bare', release: '1.0.0' };
    await registry.publish(bare, undefined, { text: definitionText(bare).replace(/\n *sha256: .*/, '') });
    for (const one of ['Several', 'Bare']) {
      const { releases } = await read(`/api/v1/renovate/example.com/${one}`);
      expect(releases.map((release) => [release.version, 'digest' in release])).toEqual([['1.0.0', false]]);
    }
  });

  it('do not exist for an unknown function, and were taken down with all releases', async () => {
    expect((await registry.request('/api/v1/renovate/example.com/Nothing')).status).toBe(404);
    await registry.publish({ kind: 'Gone', release: '1.0.0' });
    await registry.takeDown({ kind: 'Gone', release: '1.0.0' });
    expect((await registry.request('/api/v1/renovate/example.com/Gone')).status).toBe(410);
  });
});

describe('the releases of an image', () => {
  const ofImage = async (image: string) =>
    (await read(`/api/v1/renovate/images?image=${encodeURIComponent(image)}`)).releases;

  it('have the tags of the image', async () => {
    const releases = await ofImage('registry.example.com/setlabels:v0.0.1');
    expect(releases.map(({ version, digest }) => [version, digest])).toEqual(
      ['v2.0.0-rc.1', 'v1.3.0', 'v1.2.0', 'v1.1.0', 'v1.0.0'].map((tag) => [tag, DIGEST]),
    );
  });

  it('have the name of a release whose image has no tag, and the newest digest of a tag', async () => {
    const publish = async (release: string, image: string, digest: string) => {
      const name = { kind: 'Tagged', release };
      const text = definitionText(name)
        .replace(/image: .*/, `image: localhost:5000/java${image}`)
        .replace('a'.repeat(64), digest.slice(7));
      await registry.publish(name, '?wait=true&allowBreaking=true', { text });
    };
    await publish('1.0.0', ':stable', DIGEST);
    await publish('1.1.0', ':stable', OTHER);
    await publish('1.2.0', '', DIGEST);
    const releases = await ofImage('localhost:5000/java');
    expect(releases.map(({ version, digest }) => [version, digest])).toEqual([
      ['1.2.0', DIGEST],
      ['stable', OTHER],
    ]);
    // The beginning of its name is no image.
    expect(await ofImage('localhost:5000/jav')).toEqual([]);
  });

  it('are of the owner of a group, or of who named it first, and not of others who name it', async () => {
    const image = 'registry.example.com/shared';
    const name = async (group: string, release: string, sha256: string) => {
      const fn = { group, kind: 'Shared', release };
      const text = definitionText(fn).replace('a'.repeat(64), sha256.repeat(64));
      await registry.publish(fn, undefined, { text });
    };
    const versions = async () => (await ofImage(image)).map(({ version }) => version);
    await name('first.example.com', '1.0.0', 'b');
    registry.advance(1_000);
    await name('second.example.com', '99.0.0', 'c');
    registry.advance(1_000);
    await name('first.example.com', '2.0.0', 'd');
    expect(await versions()).toEqual(['v2.0.0', 'v1.0.0']);
    await applyAccess(registry, 'teams: [{name: us}]\ngroups: [{pattern: second.example.com, owner: us}]');
    expect(await versions()).toEqual(['v99.0.0']);
  });

  it('are none of an unknown image, and what is no image is refused', async () => {
    expect(await ofImage('registry.example.com/nothing')).toEqual([]);
    for (const image of ['', 'a b', 'https://example.com/a', `a@sha256:1`]) {
      const target = `/api/v1/renovate/images?image=${encodeURIComponent(image)}`;
      expect((await registry.request(target)).status, image).toBe(400);
    }
  });
});

describe('the preset', () => {
  it('has the public URL, and may be cached', async () => {
    const response = await registry.request('/renovate.json', { headers: { Host: 'evil.example.com' } });
    expect(response.headers.get('cache-control')).toBe('public, max-age=60');
    expect(await response.json()).toEqual(renovatePreset(URL));
  });

  it('has the host of the request without one, and is not stored', async () => {
    const local = await openTestRegistry();
    try {
      const ask = (host: string) => local.request('/renovate.json', { headers: { Host: host } });
      const response = await ask('127.0.0.1:8080');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(await response.json()).toEqual(renovatePreset('http://127.0.0.1:8080'));
      for (const host of ['a b', 'user@host', 'host/path', '"']) expect((await ask(host)).status).toBe(400);
    } finally {
      await local.close();
    }
  });

  const { customManagers } = renovatePreset(URL) as {
    customManagers: { description: string; customType: string; matchStrings: string[] }[];
  };
  const matches = (expression: string, text: string) => [...text.matchAll(new RegExp(expression, 'g'))];
  /** Finds as Renovate does: the second expression in what the first one finds. */
  const found = (description: string, text: string) =>
    customManagers
      .filter((one) => one.customType === 'regex' && one.description.startsWith(description))
      .flatMap(({ matchStrings: [whole, changed] }) =>
        matches(whole!, text).flatMap(([part]) => {
          const { depName } = matches(whole!, part)[0]!.groups!;
          return matches(changed!, part).map(({ groups }) => {
            return [depName, groups!.currentValue, groups!.currentDigest];
          });
        }),
      );

  it('has expressions of RE2, which Renovate prefers', () => {
    for (const { customType, matchStrings } of customManagers) {
      if (customType !== 'regex') continue;
      for (const one of matchStrings) expect(one).not.toMatch(/\(\?(?:[=!]|<[=!])|\\(?:[1-9]|k<)/);
    }
  });

  it.each([
    ['image: a/b:v1', ['a/b', 'v1', undefined]],
    ['- image: "localhost:5000/b:v1.0.0"', ['localhost:5000/b', 'v1.0.0', undefined]],
    [`- image: set-labels:v1@${DIGEST}`, ['set-labels', 'v1', DIGEST]],
    [`image: 'a/b@${DIGEST}' # v1.0.0`, ['a/b', 'v1.0.0', DIGEST]],
    ['image: a/b\n      tag: "~0.2"', ['a/b', '~0.2', undefined]],
    ['image: a/b', undefined],
    [`image: a/b@${DIGEST}`, undefined],
  ])('finds images of a Kptfile: %s', (text, expected) => {
    const all = [...found('Images of a Kptfile', text), ...found('Tags', text)];
    expect(all).toEqual(expected === undefined ? [] : [expected]);
  });

  it.each([
    ['config.kubernetes.io/function: |\n      container:\n        image: a/b:v1', ['a/b', 'v1', undefined]],
    [
      `config.kubernetes.io/function: |-\n  container:\n    network: true\n    image: a/b:v1@${DIGEST}`,
      ['a/b', 'v1', DIGEST],
    ],
    [`config.k8s.io/function: |\n  container:\n    image: a/b@${DIGEST} # 1.0.0`, ['a/b', '1.0.0', DIGEST]],
    ["config.kubernetes.io/function: '{container: {image: a/b:v1}}'", ['a/b', 'v1', undefined]],
    ['spec:\n  containers:\n  - image: a/b:v1', undefined],
    [
      'config.kubernetes.io/function: |\n  exec:\n    path: a\nspec:\n  containers:\n  - image: a/b:v1',
      undefined,
    ],
    ['config.kubernetes.io/function: |\n  container:\n    network: true\nspec:\n  image: a/b:v1', undefined],
  ])('finds images of functionConfigs: %s', (text, expected) => {
    expect(found('Images that', text)).toEqual(expected === undefined ? [] : [expected]);
  });

  it.each([
    [`- ${URL}/catalogs/default/snapshots/12`, ['default', '12', undefined]],
    [`- ${URL}/catalogs/default/snapshots/12/catalog.yaml@${DIGEST}`, ['default', '12', DIGEST]],
    [`- ${URL}/catalogs/default`, undefined],
    ['- https://krmxexample.com/hub/catalogs/default/snapshots/12', undefined],
  ])('finds catalogs at a snapshot: %s', (text, expected) => {
    expect(found('Catalogs', text)).toEqual(expected === undefined ? [] : [expected]);
  });
});
