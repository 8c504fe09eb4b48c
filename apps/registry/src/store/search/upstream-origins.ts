/** Where upstream functions come from: read within a search, on its own connection. */

import type { UpstreamOrigin } from '@krmhub/catalog';
import { readVersions, UPSTREAM_VERSIONS } from '../records/snapshots/served-entries.js';
import type { SqliteClient } from '../sqlite/connection.js';
import { prepared } from '../sqlite/prepared.js';

interface OriginRow {
  catalog: string;
  /** JSON. */
  versions: string;
}

/** Returns the catalogs and sources of an upstream function, each pair once. Call it in a transaction. */
export function upstreamOrigins({ client }: SqliteClient): (group: string, kind: string) => UpstreamOrigin[] {
  const rows = prepared(() =>
    client.prepare<{ group: string; kindFolded: string }, OriginRow>(UPSTREAM_VERSIONS.sqlite),
  );
  return (group, kind) =>
    rows.all({ group, kindFolded: kind.toLowerCase() }).flatMap(({ catalog, versions }) => {
      const upstream = readVersions(versions).filter(({ release }) => release === undefined);
      return [...new Set(upstream.map(({ source }) => source))].map((source) => ({ catalog, source }));
    });
}
