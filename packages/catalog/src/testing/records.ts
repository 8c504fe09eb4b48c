/**
 * Sample records, locks, and strings for tests.
 *
 * @module
 */

import { compareApiVersions, compareReleases, runtimeKinds, sha256 } from '@krmhub/schema';
import { functionDefinition, functionVersion } from '@krmhub/schema/testing/functions';
import type { Random } from '@krmhub/yaml/testing/random';
import type { FunctionRecord, LifecycleRecord, ReleaseRecord, ReleaseSummary } from '../ports/records.js';
import { renderDefinition } from '../render/render.js';

export { functionDefinition, functionVersion };

export const NOW = '2030-01-02T03:04:05.678Z';

export function releaseRecord(
  release: string,
  definition = functionDefinition(),
  overrides: Partial<ReleaseRecord> = {},
): ReleaseRecord {
  const bytes = renderDefinition(definition);
  return {
    group: definition.group,
    kind: definition.names.kind,
    release,
    digest: sha256(bytes),
    size: bytes.length,
    versions: definition.versions.map(({ name }) => name).sort(compareApiVersions),
    tags: definition.tags ?? [],
    publisher: definition.publisher,
    runtimes: runtimeKinds(definition),
    licenses: [...new Set(definition.versions.map(({ license }) => license))],
    publishedAt: NOW,
    publishedBy: 'alice',
    mediaType: 'application/yaml',
    definition,
    ...overrides,
  };
}

export function functionRecord(
  releases: readonly ReleaseSummary[],
  revision = releases.length,
): FunctionRecord {
  return {
    group: 'example.com',
    kind: 'SetLabels',
    revision,
    releases: [...releases].sort((a, b) => compareReleases(b.release, a.release)),
  };
}

export function lifecycleRecord(reason: string): LifecycleRecord {
  return { at: NOW, by: 'bob', reason };
}

/** Returns releases of one function in random order, some of them yanked. */
export function randomReleases(random: Random): ReleaseRecord[] {
  const names = random.some(
    ['0.1.0', '0.9.0', '0.10.0', '1.0.0-rc.1', '1.0.0', '1.2.0', '2.0.0-beta.2', '2.0.0'],
    0.6,
  );
  const releases = names.length > 0 ? names : ['1.0.0'];
  return random.shuffled(releases).map((release) => {
    const versions = random.some(['v1', 'v1beta1', 'v2alpha1', 'stable'], 0.5);
    const definition = functionDefinition({
      description: `What ${release} does`,
      maintainers: random.pick([['alice@example.com'], ['bob@example.com']]),
      tags: random.some(['mutator', 'validator', 'labels'], 0.5),
      publisher: random.pick(['Example Co', 'Other Co']),
      versions: random
        .shuffled(versions.length > 0 ? versions : ['v1'])
        .map((name) => functionVersion(name, { license: random.pick(['Apache-2.0', 'MIT']) })),
    });
    return releaseRecord(release, definition, random.chance(0.25) ? { yanked: lifecycleRecord('bad') } : {});
  });
}
