import { type ReleaseWords, releaseWords, upstreamSearchDocument } from '@krmhub/catalog';
import { type Digest, type FunctionDefinition, KrmhubError } from '@krmhub/schema';
import { UPSTREAM_ENTRIES } from '../records/snapshots/served-entries.js';
import { text, type Work } from '../sql/statement.js';
import type { UpstreamDocument } from './document-rows.js';

/** What upstream catalogs say of a name: reads of the registry's database, whichever it is. */

const ours = text<{ found: number }>(
  'SELECT 1 AS found FROM function WHERE group_name = :group AND kind_folded = :kindFolded',
);
const entries = text<{ entry: Digest }>(UPSTREAM_ENTRIES);
const entryJson = text<{ json: string }>('SELECT json FROM entry WHERE digest = :entry');

/** Returns the different entries of a name; none for a function of this registry, and for an unknown name. */
export function* upstreamEntries(group: string, kindFolded: string): Work<Digest[]> {
  if ((yield* ours.first({ group, kindFolded })) !== undefined) return [];
  return [...new Set((yield* entries.all({ group, kindFolded })).map(({ entry }) => entry))];
}

/** Returns the search document of an entry, and its words. */
export function* upstreamDocument(entry: Digest): Work<{ document: UpstreamDocument; words: ReleaseWords }> {
  const found = yield* entryJson.first({ entry });
  if (found === undefined) throw new KrmhubError('internal', `rendered entry ${entry} is missing`);
  const definition = JSON.parse(found.json) as FunctionDefinition;
  return { document: upstreamSearchDocument(definition), words: releaseWords(definition) };
}
