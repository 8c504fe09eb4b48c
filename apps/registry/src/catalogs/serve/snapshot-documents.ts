import {
  type AccessRules,
  type CatalogEntryRow,
  type CatalogHeader,
  type ReadRights,
  type RenderedEntry,
  readSearchAccess,
  renderProfile,
  renderReport,
  renderSnapshot,
  type SearchAccess,
  type SnapshotRecord,
  searchAccess,
  visibleReportedSource,
} from '@krmhub/catalog';
import type { Digest, FunctionDefinition, FunctionName, Profile, ReportedSource } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { currentActor, type KnownAccess } from '../../http/auth/request-actor.js';
import { sightOf } from '../../store/sight.js';
import type { Derivation } from '../../workers/derive/derivation.js';

/**
 * Documents about snapshots. Large catalogs have 20,000 entries and more, so they are not rendered for each request.
 */

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The reader of a document that names functions: some of them can have been hidden since its rows were stored. */
export interface DocumentReader {
  rights: ReadRights;
  /** The rules that the request followed: the stored ones can be newer, and the document is cached under these. */
  access: Omit<SearchAccess, 'rules'>;
  /** Frozen, so that its digest is computed once. */
  rules: readonly [string];
}

const frozenRules = new WeakMap<AccessRules, readonly [string]>();

/** Returns who makes the current request; undefined if that actor may read everything. */
export function documentReader({ rules }: KnownAccess): DocumentReader | undefined {
  const actor = currentActor();
  if (sightOf(rules, actor).everything()) return undefined;
  const { scopes, groups, repositories, teams, isInside } = actor;
  const rights = { scopes, groups, repositories, isInside, ...defined({ teams }) };
  const { rules: text, ...access } = searchAccess({ rules });
  const frozen = frozenRules.get(rules) ?? Object.freeze([text] as const);
  frozenRules.set(rules, frozen);
  return { rights, access, rules: frozen };
}

function seenBy(reader: DocumentReader | undefined): (name: FunctionName) => boolean {
  if (reader === undefined) return () => true;
  const [rules] = reader.rules;
  return sightOf(readSearchAccess({ ...reader.access, rules }), { name: '', ...reader.rights }).function;
}

function seenSources({ sources }: { sources?: ReportedSource[] }, sees: (name: FunctionName) => boolean) {
  return defined({ sources: sources?.map((source) => visibleReportedSource(source, sees)) });
}

interface DocumentInput {
  snapshot: SnapshotRecord;
  /** Absent if all readers get the same. */
  reader?: DocumentReader;
}

/** The provenance of every entry of a snapshot. */
export const SNAPSHOT_DOCUMENT: Derivation<DocumentInput> = {
  name: 'snapshot',
  async derive(deps, { snapshot, reader }) {
    const rows = await deps.store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    return encode(renderSnapshot(snapshot, rows.filter(seenBy(reader))));
  },
};

/** What a snapshot leaves out and why. */
export const SNAPSHOT_REPORT: Derivation<DocumentInput> = {
  name: 'snapshot-report',
  async derive(deps, { snapshot, reader }) {
    const rows = await deps.store.snapshotEntryRows(snapshot.catalog, snapshot.serial);
    if (reader === undefined) return encode(renderReport(snapshot, rows));
    const sees = seenBy(reader);
    return encode(renderReport({ ...snapshot, ...seenSources(snapshot, sees) }, rows.filter(sees)));
  },
};

/** What the newest state of a catalog leaves out and why. */
export const CATALOG_REPORT: Derivation<{
  state: { catalog: string; serial: number; sources?: ReportedSource[] };
  /** The last event that the catalog includes: its rows change only with it. */
  throughEvent: number;
  /** What was left out that not everybody may read who reads the catalog. */
  excluded: readonly CatalogEntryRow[];
  /** The next build empties the rows of what was hidden since the last one. */
  reader?: DocumentReader;
}> = {
  name: 'catalog-report',
  async derive(deps, { state, excluded, reader }) {
    const rows = await deps.store.latestEntryRows(state.catalog);
    const sees = seenBy(reader);
    return encode(renderReport(state, [...rows.filter(sees), ...excluded]));
  },
};

/** Entries of a snapshot as their own catalog, in the dialect of another tool. */
export const ENTRY_PROFILE: Derivation<{
  header: CatalogHeader;
  profile: Profile;
  entries: readonly Digest[];
}> = {
  name: 'entry-profile',
  async derive({ store }, { header, profile, entries }) {
    const stored = await store.entries(entries);
    const definitions = [...stored.values()].map(
      ({ json }: RenderedEntry) => JSON.parse(json) as FunctionDefinition,
    );
    return encode(renderProfile(profile, header, definitions).text);
  },
};
