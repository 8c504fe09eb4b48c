import { isSameProvenance, type Selection } from '@krmhub/catalog';
import { type Check, damage } from './finding.js';

interface NamedRelease {
  name: string;
  release: string;
  problem: 'missing' | 'yanked';
}

/** Releases that the newest snapshot names and that it must not name. A build may still have to include an event. */
const WRONG_RELEASES = `
  SELECT place.group_name || '/' || place.kind AS name, version.value ->> 'release' AS release,
    iif(release.id IS NULL, 'missing', 'yanked') AS problem
  FROM catalog_function AS place, json_each(place.selection, '$.versions') AS version
  LEFT JOIN function ON function.group_name = place.group_name AND lower(function.kind) = lower(place.kind)
  LEFT JOIN release ON release.function_id = function.id AND release.release = version.value ->> 'release'
    AND release.digest = version.value ->> 'definition'
  WHERE place.catalog = :catalog AND place.from_serial <= :serial
    AND (place.to_serial IS NULL OR place.to_serial > :serial)
    AND version.value ->> 'release' IS NOT NULL AND (release.id IS NULL OR release.yanked IS NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM event WHERE sequence > :throughEvent
      AND event.group_name = place.group_name AND lower(event.kind) = lower(place.kind))`;

/** Checks that the newest snapshot of each catalog names the releases that its catalog selects. */
export const checkProvenance: Check = async function* ({ client, store }) {
  const wrong = client.prepare<{ catalog: string; serial: number; throughEvent: number }, NamedRelease>(
    WRONG_RELEASES,
  );
  for (const { name: catalog, newest, throughEvent } of await store.catalogs()) {
    // The next build replaces a withdrawn one. A new recipe may select everything again.
    if (newest === undefined || newest.withdrawn !== undefined || throughEvent === 0) continue;
    const { serial } = newest;
    const subject = `snapshot ${catalog} ${serial}`;
    const reported = new Set<string>();
    for (const { name, release, problem } of wrong.all({ catalog, serial, throughEvent })) {
      reported.add(name);
      const state = problem === 'yanked' ? 'is yanked' : 'is missing, or has another definition';
      yield damage(subject, `it refers to release ${name}@${release}, which ${state}`, REBUILD);
    }
    const held = new Map(
      (await store.snapshotEntryRows(catalog, serial)).map((row) => [functionKey(row), row]),
    );
    for (const row of await store.latestEntryRows(catalog)) {
      const { group, kind } = row;
      const none: Selection = { group, kind, versions: [], shadowed: [], yanked: [] };
      if (reported.has(functionKey(row)) || isSameProvenance(row, held.get(functionKey(row)) ?? none))
        continue;
      yield damage(
        subject,
        `it does not contain the selected release or source of ${functionKey(row)}`,
        REBUILD,
      );
    }
  }
};

const REBUILD =
  'Publish a release that changes the catalog. The next snapshot contains the selected releases.';

function functionKey({ group, kind }: Selection): string {
  return `${group}/${kind}`;
}
