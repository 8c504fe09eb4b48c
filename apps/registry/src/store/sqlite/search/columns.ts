import { describeSigner, type ReleaseSignature, type SearchPage } from '@krmhub/catalog';
import { FacetColumn } from '../../../search/facet-column.js';
import type { Connection } from '../connection.js';
import { prepared } from '../prepared.js';
import { PublicationTimes } from './publication-times.js';
import { FINDABLE, FINDABLE_TABLES, IN_NEWEST_SNAPSHOT, PUBLISHED_AT } from './rows.js';
import { MAX_REMEMBERED_CHANGES } from './upstream-rows.js';

export type Facet = keyof SearchPage['facets'];
export const FACETS: readonly Facet[] = [
  'tag',
  'kind',
  'group',
  'publisher',
  'runtime',
  'license',
  'apiVersion',
  'pinned',
  'network',
  'storage',
  'signedBy',
  'catalog',
];

const FACTS = ['pinned', 'network', 'storage'] as const;

/** Changed functions that are read one by one; after more changes, everything is read again. */
const MAX_SINGLE_READS = MAX_REMEMBERED_CHANGES;
/** New functions that are inserted one by one; more are sorted with all others. */
const MAX_INSERTIONS = 50;

export interface SearchColumns {
  /** Changes with every update. */
  state: number;
  facets: Record<Facet, FacetColumn>;
  /** OCI repositories of what the functions run; not counted. */
  images: FacetColumn;
  /** Ids of the functions by group and kind in code unit order. */
  order: Uint32Array;
  /** By id: index of the function in `order`. */
  rank: Uint32Array;
  /** By id: whether every release is yanked. */
  yanked: Uint8Array;
  /** By id: whether the displayed release is deprecated. */
  deprecated: Uint8Array;
  /** Publication time of displayed releases. */
  published: PublicationTimes;
  /** Returns the number of functions up to this name. */
  ranksUpTo(group: string, kind: string): number;
  /** Returns the names of all functions in order. */
  names(): readonly { group: string; kind: string }[];
}

interface FunctionRow {
  id: number;
  group: string;
  kind: string;
  publisher: string;
  tags: string;
  runtimes: string;
  licenses: string;
  versions: string;
  network: number;
  storage: number;
  pinned: number;
  images: string;
  yanked: number;
  deprecated: number;
  signatures: string;
}
interface Name {
  group: string;
  kind: string;
}
interface NamedId extends Name {
  id: number;
}

/** State of the database that the columns reflect. */
interface Seen {
  /** Sequence of an event. */
  event: number;
  /** Sequence of a change of an upstream row. */
  upstream: number;
  /** By catalog. */
  serials: ReadonlyMap<string, number>;
}

const ROW = `SELECT id, group_name AS "group", kind, publisher, tags, runtimes, licenses, versions, network,
  storage, pinned, images, yanked, deprecated, signatures`;
/** Rows per read, so that not all are in memory at a time. */
const PAGE = 1_000;

/**
 * Values of every function in memory, for filters, counts, and order. Returns a function that updates them to the
 * state of the database; call it in the transaction of the search. The event log, the serials of catalogs, and the
 * changes of upstream rows show which functions changed since the last call.
 */
export function searchColumns({ client }: Pick<Connection, 'client'>): () => SearchColumns {
  const lastEvent = prepared(() =>
    client.prepare<[], number>('SELECT ifnull(max(sequence), 0) FROM event').pluck(),
  );
  const newestSerials = prepared(() =>
    client.prepare<[], { catalog: string; serial: number }>(
      `SELECT name AS catalog, (SELECT max(serial) FROM snapshot WHERE snapshot.catalog = name) AS serial
     FROM catalog WHERE serial IS NOT NULL AND deleted IS NULL`,
    ),
  );
  const changedByEvents = prepared(() =>
    client.prepare<[number], Name>(
      `SELECT DISTINCT group_name AS "group", kind FROM event
     WHERE sequence > ? AND type LIKE 'release.%' LIMIT ${MAX_SINGLE_READS + 1}`,
    ),
  );
  const changedRows = prepared(() =>
    client.prepare<[string, number, number], Name>(
      `SELECT group_name AS "group", kind FROM catalog_function
     WHERE catalog = ? AND from_serial > ? AND from_serial <= ? LIMIT ${MAX_SINGLE_READS + 1}`,
    ),
  );
  const upstreamChanges = prepared(() =>
    client.prepare<[], { first: number; last: number }>(
      'SELECT ifnull(min(sequence), 0) AS first, ifnull(max(sequence), 0) AS last FROM upstream_change',
    ),
  );
  const changedUpstream = prepared(() =>
    client.prepare<[number], Name>(
      'SELECT DISTINCT group_name AS "group", kind FROM upstream_change WHERE sequence > ?',
    ),
  );
  const oneRow = prepared(() =>
    client.prepare<[string, string], FunctionRow & { published: string | null }>(
      `${ROW}, ${PUBLISHED_AT} AS published FROM ${FINDABLE} AS shown WHERE group_name = ? AND kind_folded = ?`,
    ),
  );
  // In the order of the file: sorting them in memory is faster than reading them in the order of an index.
  const allRows = FINDABLE_TABLES.map((table) =>
    prepared(() =>
      client.prepare<[number], FunctionRow>(
        `${ROW} FROM (${table}) AS shown WHERE id > ? ORDER BY id LIMIT ${PAGE}`,
      ),
    ),
  );
  const catalogsOf = prepared(() =>
    client
      .prepare<[string, string], string>(
        `SELECT catalog FROM catalog_function AS place
       WHERE group_name = ? AND lower(kind) = ? AND entry IS NOT NULL AND ${IN_NEWEST_SNAPSHOT}`,
      )
      .pluck(),
  );
  const entriesIn = prepared(() =>
    client.prepare<[string, number, number], Name>(
      `SELECT group_name AS "group", kind FROM catalog_function
     WHERE catalog = ? AND entry IS NOT NULL AND from_serial <= ? AND (to_serial IS NULL OR to_serial > ?)
     ORDER BY group_name, kind`,
    ),
  );

  let columns: Columns | undefined;
  let states = 0;
  let seen: Seen = { event: 0, upstream: 0, serials: new Map() };

  const published = new PublicationTimes({ client });

  const readAll = (serials: ReadonlyMap<string, number>): Columns => {
    const all = new Columns(published);
    published.reset();
    const catalogs = new Map<string, string[]>();
    for (const [catalog, serial] of serials) {
      for (const { group, kind } of entriesIn.iterate(catalog, serial, serial)) {
        const name = `${group}/${kind.toLowerCase()}`;
        const others = catalogs.get(name);
        if (others === undefined) catalogs.set(name, [catalog]);
        else others.push(catalog);
      }
    }
    for (const rows of allRows) {
      for (let page = rows.all(-1); page.length > 0; page = rows.all(page.at(-1)!.id)) {
        for (const row of page) all.put(row, catalogs.get(`${row.group}/${row.kind.toLowerCase()}`) ?? []);
      }
    }
    return all;
  };

  const changedNames = (now: Seen, forgotten: number): Name[] | undefined => {
    if (now.upstream > seen.upstream && forgotten > seen.upstream) return undefined;
    // A deleted catalog.
    if ([...seen.serials.keys()].some((catalog) => !now.serials.has(catalog))) return undefined;
    const changed = now.event > seen.event ? changedByEvents.all(seen.event) : [];
    for (const [catalog, serial] of now.serials) {
      const before = seen.serials.get(catalog) ?? 0;
      if (serial > before) changed.push(...changedRows.all(catalog, before, serial));
    }
    if (now.upstream > seen.upstream) changed.push(...changedUpstream.all(seen.upstream));
    return changed.length > MAX_SINGLE_READS ? undefined : changed;
  };

  return () => {
    const { first, last } = upstreamChanges.get()!;
    const now: Seen = {
      event: lastEvent.get()!,
      upstream: last,
      serials: new Map(newestSerials.all().map(({ catalog, serial }) => [catalog, serial])),
    };
    const changed = columns === undefined ? undefined : changedNames(now, first - 1);
    if (columns === undefined || changed === undefined) {
      columns = readAll(now.serials);
    } else {
      const rows = changed.map((name) => ({ name, row: oneRow.get(name.group, name.kind.toLowerCase()) }));
      // A function that returned after a takedown may have the id of another one, so old rows go first.
      for (const { name, row } of rows) {
        columns.forget(name.group, name.kind, row?.kind === name.kind ? row.id : undefined);
      }
      for (const { row } of rows) {
        if (row === undefined) continue;
        columns.put(row, catalogsOf.all(row.group, row.kind.toLowerCase()));
        published.put(row.id, row.published);
      }
    }
    if (changed === undefined || !isSame(seen, now)) states += 1;
    columns.state = states;
    seen = now;
    columns.settle();
    return columns;
  };
}

function isSame(one: Seen, other: Seen): boolean {
  return (
    one.event === other.event &&
    one.upstream === other.upstream &&
    one.serials.size === other.serials.size &&
    [...one.serials].every(([catalog, serial]) => other.serials.get(catalog) === serial)
  );
}

class Columns implements SearchColumns {
  state = 0;
  readonly facets = Object.fromEntries(FACETS.map((facet) => [facet, new FacetColumn()])) as Record<
    Facet,
    FacetColumn
  >;
  readonly images = new FacetColumn();
  order = new Uint32Array();
  rank = new Uint32Array();
  yanked = new Uint8Array(1);
  deprecated = new Uint8Array(1);
  readonly published: PublicationTimes;
  #ordered: NamedId[] = [];
  /** 1 for each id that is in `#ordered` or `#added`. */
  #present = new Uint8Array(1);
  #added: NamedId[] = [];
  #forgotten = false;

  constructor(published: PublicationTimes) {
    this.published = published;
  }

  put(row: FunctionRow, catalogs: readonly string[]): void {
    const { id, group, kind, publisher } = row;
    const { facets } = this;
    facets.tag.putText(id, row.tags, readList);
    facets.kind.put(id, [kind]);
    facets.group.put(id, [group]);
    facets.publisher.put(id, [publisher]);
    facets.runtime.putText(id, row.runtimes, readList);
    facets.license.putText(id, row.licenses, readList);
    facets.apiVersion.putText(id, `${group} ${row.versions}`, () =>
      readList(row.versions).map((version) => `${group}/${version}`),
    );
    for (const fact of FACTS) facets[fact].put(id, [row[fact] === 1 ? 'true' : 'false']);
    this.images.putText(id, row.images, readList);
    facets.signedBy.putText(id, row.signatures, signersOf);
    facets.catalog.putText(id, catalogs.join(' '), () => catalogs);
    if (id >= this.yanked.length) {
      this.yanked = grown(this.yanked, id);
      this.deprecated = grown(this.deprecated, id);
      this.#present = grown(this.#present, id);
    }
    this.yanked[id] = row.yanked;
    this.deprecated[id] = row.deprecated;
    if (this.#present[id] === 1) return;
    this.#present[id] = 1;
    this.#added.push({ id, group, kind });
  }

  /** Removes the function of this name if it has another id. Call it before any `put`. */
  forget(group: string, kind: string, id: number | undefined): void {
    const at = this.ranksUpTo(group, kind) - 1;
    const known = this.#ordered[at];
    if (known === undefined || known.id === id || byName(known, { group, kind }) !== 0) return;
    this.#present[known.id] = 0;
    this.#ordered.splice(at, 1);
    this.#forgotten = true;
  }

  /** Inserts new functions in order. Call it after `put` and `forget`. */
  settle(): void {
    if (this.#added.length === 0 && !this.#forgotten) return;
    const added = this.#added;
    this.#added = [];
    if (this.#forgotten || added.length > MAX_INSERTIONS) {
      this.#ordered = [...this.#ordered, ...added].sort(byName);
      this.order = Uint32Array.from(this.#ordered, ({ id }) => id);
      this.#forgotten = false;
      this.#rankFrom(0);
      return;
    }
    let first = this.#ordered.length;
    for (const name of added) first = Math.min(first, this.#insert(name));
    this.#rankFrom(first);
  }

  /** Returns the index of the new function. */
  #insert(name: NamedId): number {
    const at = this.ranksUpTo(name.group, name.kind);
    this.#ordered.splice(at, 0, name);
    const order = new Uint32Array(this.#ordered.length);
    order.set(this.order.subarray(0, at));
    order[at] = name.id;
    order.set(this.order.subarray(at), at + 1);
    this.order = order;
    return at;
  }

  #rankFrom(first: number): void {
    const { order } = this;
    if (this.rank.length < this.yanked.length) {
      const rank = new Uint32Array(this.yanked.length);
      rank.set(this.rank);
      this.rank = rank;
    }
    for (let at = first; at < order.length; at += 1) this.rank[order[at]!] = at;
  }

  names(): readonly Name[] {
    return this.#ordered;
  }

  ranksUpTo = (group: string, kind: string): number => {
    let low = 0;
    let high = this.#ordered.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (byName(this.#ordered[middle]!, { group, kind }) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function grown(flags: Uint8Array, id: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(Math.max(id + 1, flags.length * 2));
  more.set(flags);
  return more;
}

function readList(text: string): string[] {
  return JSON.parse(text) as string[];
}

/** Returns the verified signers from the JSON list; mostly empty. */
function signersOf(signatures: string): string[] {
  if (signatures === '[]') return [];
  return (JSON.parse(signatures) as ReleaseSignature[]).map(({ signer }) => describeSigner(signer));
}

function byName(a: Name, b: Name): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  return a.kind === b.kind ? 0 : a.kind < b.kind ? -1 : 1;
}
