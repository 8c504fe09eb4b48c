import type { Event, NewEvent } from '@krmhub/catalog';
import type { Work } from '../sql/statement.js';
import * as artifacts from './artifacts/artifact-rows.js';
import type { Connection } from './connection.js';
import { appendEvent } from './events/append-event.js';
import * as entries from './sources/source-rows.js';

/** Work inside of a transaction of this connection that is written as plain functions. */

export function eventAppender({ sql }: Connection): (event: NewEvent) => Event {
  return (event) => sql.run(appendEvent(event));
}

export function artifactWriter({ sql }: Connection) {
  return {
    putArtifact: (...args: Parameters<typeof artifacts.putArtifact>) =>
      sql.run(artifacts.putArtifact(...args)),
    putManifest: (...args: Parameters<typeof artifacts.putManifest>) =>
      sql.run(artifacts.putManifest(...args)),
    addBlob: (...args: Parameters<typeof artifacts.addBlob>) => sql.run(artifacts.addBlob(...args)),
    removeManifest: (id: number) => sql.run(artifacts.removeManifest(id)),
    removeManifestByDigest: (...args: Parameters<typeof artifacts.removeManifestByDigest>) =>
      sql.run(artifacts.removeManifestByDigest(...args)),
    removeBlob: (...args: Parameters<typeof artifacts.removeBlob>) => sql.run(artifacts.removeBlob(...args)),
  };
}

export function entryRemover({ sql }: Connection) {
  return {
    all: (...args: Parameters<typeof entries.removeEntries>) => sql.run(entries.removeEntries(...args)),
    canCollect: (at: string) => sql.run(entries.canCollect(at)),
    collect: (at: string) => sql.run(entries.collectEntries(at)),
  };
}

/** Plain functions as work, which only a connection of SQLite can run. */
// biome-ignore lint/correctness/useYield: it runs at once.
export function* now<Result>(work: () => Result): Work<Result> {
  return work();
}
