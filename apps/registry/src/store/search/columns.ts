import { describeSigner, isSound, type ReleaseSignature, type SignatureState } from '@krmhub/catalog';
import { FACET_NAMES, type FacetName, mapFacets } from '@krmhub/schema/facets';
import type { DocumentRow } from './document-rows.js';
import { FacetColumn } from './facet-column.js';
import { FacetTuples } from './facet-tuples.js';
import { type SearchTrust, signatureState } from './signature-states.js';
import { splitName } from './text.js';

/** Where the values of each facet come from. */
const VALUES: Record<FacetName, (column: FacetColumn, row: JudgedRow, catalogs: readonly string[]) => void> =
  {
    tag: (column, { id, tags }) => column.putText(id, tags, readList),
    kind: (column, { id, kind }) => column.put(id, [kind]),
    group: (column, { id, group }) => column.put(id, [group]),
    // The group that a release was published to: the rules of a search say who owns it.
    owner: (column, { id, group, release }) => column.put(id, release === null ? [] : [group]),
    publisher: (column, { id, publisher }) => column.put(id, [publisher]),
    runtime: (column, { id, runtimes }) => column.putText(id, runtimes, readList),
    license: (column, { id, licenses }) => column.putText(id, licenses, readList),
    apiVersion: (column, { id, group, versions }) =>
      column.putText(id, `${group} ${versions}`, () =>
        readList(versions).map((version) => `${group}/${version}`),
      ),
    signed: (column, { id, state }) => column.put(id, [trueOrFalse(Number(isSound({ state })))]),
    pinned: (column, { id, pinned }) => column.put(id, [trueOrFalse(pinned)]),
    network: (column, { id, network }) => column.put(id, [trueOrFalse(network)]),
    storage: (column, { id, storage }) => column.put(id, [trueOrFalse(storage)]),
    deprecated: (column, { id, deprecated }) => column.put(id, [trueOrFalse(deprecated)]),
    signedBy: (column, { id, signatures }) => column.putText(id, signatures, readSigners),
    catalog: (column, { id }, catalogs) => column.putText(id, catalogs.join(' '), () => catalogs),
  };

/** Facets that are counted together, because many functions have the same values in all of them. */
const TOGETHER: readonly (readonly FacetName[])[] = [
  ['runtime', 'license', 'signed', 'pinned', 'network', 'storage', 'deprecated', 'signedBy', 'catalog'],
  ['group', 'owner', 'publisher', 'apiVersion'],
];
/** Facets that are counted one by one. */
export const ALONE: readonly FacetName[] = FACET_NAMES.filter((facet) => !TOGETHER.flat().includes(facet));

const NO_ALTERNATIVES: Alternatives = { ids: [], shown: [] };

/** New functions that are inserted one by one; more are sorted with all others. */
const MAX_INSERTIONS = 50;

/** Values of every function in memory, for filters, counts, and order. */
export interface SearchColumns {
  /** Changes with every update. */
  state: number;
  facets: Record<FacetName, FacetColumn>;
  together: readonly FacetTuples<FacetName>[];
  /** OCI repositories of what the functions run; not counted. */
  images: FacetColumn;
  /** Catalogs that have the entry of an upstream function; not counted. */
  shownBy: FacetColumn;
  /** By folded name: the rows of an upstream function that has several. All are in `order`; a search has at most one. */
  alternatives: ReadonlyMap<string, Alternatives>;
  /** By id: whether this registry has a release. */
  ours: Uint8Array;
  /** Ids of the functions by group and kind in code unit order. */
  order: Uint32Array;
  /** By id: index of the function in `order`. */
  rank: Uint32Array;
  /** By id: whether every release is yanked. */
  yanked: Uint8Array;
  /** By id: 2 if the signatures are not trusted, plus 1 if the displayed release is deprecated. */
  warnings: Uint8Array;
  /** By id: the evidence for the displayed release, best first: verified before signed, and then pinned. */
  standing: Uint8Array;
  /** By id: number of words of the kind. */
  kindWords: Uint8Array;
  /** By id: when the displayed release was published, in milliseconds; 0 without one. */
  published: Float64Array;
  /** Returns the number of functions up to this name. */
  ranksUpTo(group: string, kind: string): number;
  /** Returns the ids with exactly this name: several for alternatives. */
  idsOf(name: Name): number[];
  /** Returns the names of all functions in order. */
  names(): readonly { group: string; kind: string }[];
}

export interface FunctionRow extends Omit<DocumentRow, 'description'> {
  id: number;
  group: string;
  kind: string;
}
interface JudgedRow extends FunctionRow {
  state: SignatureState;
}
export interface Name {
  group: string;
  kind: string;
}
interface NamedId extends Name {
  id: number;
}
/** An entry of an upstream function as one catalog has it. */
export interface ShownEntry {
  catalog: string;
  id: number;
}

/** The rows of a name. */
export interface Alternatives {
  /** All ids, also of rows that no newest snapshot has any more: `synchronizeSearch` removes them later. */
  ids: readonly number[];
  /** The entries in newest snapshots: a search has the first one that its actor may read. */
  shown: readonly ShownEntry[];
}

/** The columns, and what changes them. */
export class Columns implements SearchColumns {
  state = 0;
  readonly facets = mapFacets((_, { ignoresCase }) => new FacetColumn({ ignoresCase }));
  readonly together = TOGETHER.map((facets) => new FacetTuples(facets, this.facets));
  readonly images = new FacetColumn();
  readonly shownBy = new FacetColumn();
  readonly alternatives = new Map<string, Alternatives>();
  ours = new Uint8Array(1);
  order = new Uint32Array();
  rank = new Uint32Array();
  yanked = new Uint8Array(1);
  warnings = new Uint8Array(1);
  standing = new Uint8Array(1);
  kindWords = new Uint8Array(1);
  published = new Float64Array(1);
  readonly #trust: SearchTrust;
  #ordered: NamedId[] = [];
  /** 1 for each id that is in `#ordered` or `#added`. */
  #present = new Uint8Array(1);
  #added: NamedId[] = [];
  #forgotten = false;

  constructor(trust: SearchTrust) {
    this.#trust = trust;
  }

  /** `alternatives`: the rows of the name; none for a function of this registry. */
  put(row: FunctionRow, catalogs: readonly string[], { ids, shown }: Alternatives = NO_ALTERNATIVES): void {
    const { id, group, kind } = row;
    const shownBy = shown.filter((one) => one.id === id).map(({ catalog }) => catalog);
    if (ids.length > 1) this.alternatives.set(foldedName(row), { ids, shown });
    const state = signatureState(this.#trust, row);
    const judged = { ...row, state };
    for (const name of FACET_NAMES) VALUES[name](this.facets[name], judged, catalogs);
    this.images.putText(id, row.images, readList);
    this.shownBy.putText(id, shownBy.join(' '), () => shownBy);
    for (const tuples of this.together) tuples.put(id);
    if (id >= this.yanked.length) {
      this.yanked = grown(this.yanked, id);
      this.ours = grown(this.ours, id);
      this.warnings = grown(this.warnings, id);
      this.standing = grown(this.standing, id);
      this.kindWords = grown(this.kindWords, id);
      this.#present = grown(this.#present, id);
      const published = new Float64Array(this.yanked.length);
      published.set(this.published);
      this.published = published;
    }
    this.yanked[id] = row.yanked;
    this.ours[id] = Number(row.release !== null);
    this.warnings[id] = (state === 'not-trusted' ? 2 : 0) + row.deprecated;
    this.standing[id] = (state === 'verified' ? 0 : state === 'signed' ? 2 : 4) + 1 - row.pinned;
    this.kindWords[id] = Math.min(splitName(kind).length, 255);
    this.published[id] = row.published === '' ? 0 : Date.parse(row.published);
    if (this.#present[id] === 1) return;
    this.#present[id] = 1;
    this.#added.push({ id, group, kind });
  }

  /** Removes what has this name, but for these ids. Call it before any `put`. */
  forget(name: Name, kept: readonly number[]): void {
    this.alternatives.delete(foldedName(name));
    const known = this.idsOf(name);
    const left = known.filter((id) => kept.includes(id));
    if (left.length === known.length) return;
    for (const id of known) if (!left.includes(id)) this.#present[id] = 0;
    const first = this.ranksUpTo(name.group, name.kind) - known.length;
    this.#ordered.splice(first, known.length, ...left.map((id) => ({ ...name, id })));
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

  idsOf(name: Name): number[] {
    const ids: number[] = [];
    for (let at = this.ranksUpTo(name.group, name.kind) - 1; at >= 0; at -= 1) {
      const known = this.#ordered[at]!;
      if (byName(known, name) !== 0) break;
      ids.unshift(known.id);
    }
    return ids;
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

/** Returns a key that ignores the case of the kind. */
export function foldedName({ group, kind }: Name): string {
  return `${group}/${kind.toLowerCase()}`;
}

function grown(flags: Uint8Array, id: number): Uint8Array<ArrayBuffer> {
  const more = new Uint8Array(Math.max(id + 1, flags.length * 2));
  more.set(flags);
  return more;
}

function trueOrFalse(flag: number): 'true' | 'false' {
  return flag === 1 ? 'true' : 'false';
}

function readList(text: string): string[] {
  return JSON.parse(text) as string[];
}

/** Returns the verified signers from the JSON list; mostly empty. */
function readSigners(signatures: string): string[] {
  if (signatures === '[]') return [];
  return (JSON.parse(signatures) as ReleaseSignature[]).map(({ signer }) => describeSigner(signer));
}

function byName(a: Name, b: Name): number {
  if (a.group !== b.group) return a.group < b.group ? -1 : 1;
  return a.kind === b.kind ? 0 : a.kind < b.kind ? -1 : 1;
}
