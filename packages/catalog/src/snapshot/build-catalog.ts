import { createHash } from 'node:crypto';
import {
  type Digest,
  type FunctionDefinition,
  type FunctionName,
  type ReportedSource,
  SNAPSHOT_RENDITIONS,
  type SnapshotRendition,
} from '@krmhub/schema';
import type { SigningPolicy } from '../policy/signing-policy.js';
import { compareFunctionNames } from '../ports/function-name.js';
import type {
  CatalogEntryRow,
  ReleaseSummary,
  RenderedEntry,
  Selection,
  SnapshotRecord,
  Time,
} from '../ports/records.js';
import type { SourceSignature, UpstreamEntry } from '../ports/source-records.js';
import type { Recipe } from '../recipe/recipe.js';
import { catalogPieces, renderEntry } from '../render/render.js';
import { type ReadEntry, versionFacts } from '../upstream/read-upstream.js';
import { functionCandidates, functionKey, isEmptySelection } from './candidates.js';
import { entryDefinition } from './entry.js';
import { needsFacts, type SelectionContext, selectFunction } from './select-function.js';

/** A function of a registry with the definitions of its releases. */
export interface BuildFunction extends FunctionName {
  releases: readonly (ReleaseSummary & { definition: FunctionDefinition })[];
}

/** An entry of an upstream catalog, and when it was first seen with these bytes. */
export interface KnownEntry extends Pick<ReadEntry, 'facts'> {
  /** Of the rendered entry. */
  json: string;
  firstSeen: Time;
  /** Since when the source does not have it any more. */
  goneAt?: Time;
}

/** What is known of a source that is an upstream catalog. */
export interface BuildSource {
  /** The current entries, each function once. */
  entries: readonly KnownEntry[];
  /** Earlier entries: the latest of each function first. */
  former: readonly KnownEntry[];
  /** Of the catalog as a whole: those that hold. */
  signatures: readonly SourceSignature[];
  reported: ReportedSource;
}

/** All that a catalog is made from, beside its recipe. */
export interface BuildInputs {
  /** By which minimum ages are judged. */
  clock: Time;
  /** Of the registry, each once. */
  functions: Iterable<BuildFunction>;
  /** By name, one for each source of the recipe that is an upstream catalog. */
  sources: ReadonlyMap<string, BuildSource>;
  /** The signing policies of the registry; needed where `followsRegistryPolicies(recipe)`. */
  policies?: readonly SigningPolicy[];
}

/** A snapshot that no store has. */
export interface BuiltCatalog extends Pick<SnapshotRecord, 'catalog' | 'labels' | 'digests' | 'sources'> {
  /** Number of entries. */
  count: number;
  /** Everything that has a place in the catalog or a line in its report, in the order of `compareFunctionNames`. */
  functions: CatalogEntryRow[];
  /** In the order of the catalog. */
  entries: RenderedEntry[];
}

/**
 * Builds a complete catalog: the same entries and bytes as a registry's incremental builds. Depends only on
 * its arguments, and not on the order of functions, sources and entries. Throws a RangeError where a source is missing.
 */
export function buildCatalog(recipe: Recipe, inputs: BuildInputs): BuiltCatalog {
  const material = collectInputs(recipe, inputs);
  const places: { place: CatalogEntryRow; entry?: RenderedEntry }[] = [];
  for (const { own, upstream, rendered } of material.functions.values()) {
    const offers = functionCandidates(recipe, own, upstream);
    if (offers === undefined) continue;
    const selection = selectFunction(recipe, offers, material.context);
    if (isEmptySelection(selection)) continue;
    if (selection.versions.length === 0) {
      places.push({ place: selection });
      continue;
    }
    const entry = renderEntry(
      entryDefinition(selection, selectedDefinitions(own, rendered, selection), recipe),
    );
    places.push({ place: { ...selection, entry: entry.digest }, entry });
  }
  places.sort((a, b) => compareFunctionNames(a.place, b.place));
  const entries = places.flatMap(({ entry }) => entry ?? []);
  const { name: catalog, labels } = recipe;
  const head = { catalog, ...(labels === undefined ? {} : { labels }) };
  return {
    ...head,
    digests: Object.fromEntries(
      SNAPSHOT_RENDITIONS.map((form) => [form, digestOf(builtCatalogPieces({ ...head, entries }, form))]),
    ) as Record<SnapshotRendition, Digest>,
    ...(material.reported.length === 0 ? {} : { sources: material.reported }),
    count: entries.length,
    functions: places.map(({ place }) => place),
    entries,
  };
}

/** One form of the catalog in pieces, as `renderCatalog` gives them. */
export function* builtCatalogPieces(
  { catalog, labels, entries }: Pick<BuiltCatalog, 'catalog' | 'labels' | 'entries'>,
  form: SnapshotRendition,
): Generator<string, void, undefined> {
  const pieces = catalogPieces(form, { name: catalog, ...(labels === undefined ? {} : { labels }) });
  for (const entry of entries) yield pieces.entry(entry);
  yield pieces.end();
}

/** What is known of one function, of whatever source. */
interface FunctionInputs {
  own?: BuildFunction & { facts?: ReadonlyMap<string, UpstreamEntry['versions']> };
  upstream: Map<string, UpstreamEntry[]>;
  /** JSON of entries of upstream catalogs. */
  rendered: Map<Digest, string>;
}

function selectedDefinitions(
  own: FunctionInputs['own'],
  rendered: FunctionInputs['rendered'],
  { versions }: Selection,
): Map<Digest, FunctionDefinition> {
  const definitions = new Map<Digest, FunctionDefinition>();
  for (const { digest, definition } of own?.releases ?? []) definitions.set(digest, definition);
  for (const { release, definition } of versions) {
    // It was rendered from a definition in normal form.
    if (release === undefined) definitions.set(definition, JSON.parse(rendered.get(definition)!));
  }
  return definitions;
}

interface CollectedInputs {
  functions: Map<string, FunctionInputs>;
  context: SelectionContext;
  /** In the recipe's order. */
  reported: ReportedSource[];
}

function collectInputs(
  recipe: Recipe,
  { clock, functions, sources, policies }: BuildInputs,
): CollectedInputs {
  const found = new Map<string, FunctionInputs>();
  const of = (name: FunctionName): FunctionInputs => {
    const key = functionKey(name);
    const known = found.get(key) ?? { upstream: new Map(), rendered: new Map() };
    found.set(key, known);
    return known;
  };
  const groups = new Set<string>();
  const withFacts = needsFacts(recipe);
  for (const fn of functions) {
    const { releases } = fn;
    // Also where all of it was taken down.
    groups.add(fn.group);
    if (releases.length === 0) continue;
    const material = of(fn);
    const facts = () =>
      new Map(releases.map(({ release, definition }) => [release, versionFacts(definition)]));
    material.own = { ...fn, ...(withFacts ? { facts: facts() } : {}) };
  }
  const signatures = new Map<string, readonly SourceSignature[]>();
  const reported: ReportedSource[] = [];
  for (const { name, catalog } of recipe.sources) {
    if (catalog === undefined) continue;
    const source = sources.get(name);
    if (source === undefined) throw new RangeError(`what is known of the source ${name} is needed`);
    signatures.set(name, source.signatures);
    reported.push(source.reported);
    const take = ({ json, facts, firstSeen, goneAt }: KnownEntry, material: FunctionInputs): void => {
      const entries = material.upstream.get(name) ?? [];
      entries.push({ ...facts, firstSeen, ...(goneAt === undefined ? {} : { goneAt }) });
      material.upstream.set(name, entries);
      material.rendered.set(facts.definition, json);
    };
    for (const entry of source.entries) take(entry, of(entry.facts));
    for (const entry of source.former) {
      const material = found.get(functionKey(entry.facts));
      // What was removed there is not offered any more.
      if (material?.upstream.has(name)) take(entry, material);
    }
  }
  const context = {
    clock,
    ownsGroup: (group: string) => groups.has(group),
    signatures,
    ...(policies === undefined ? {} : { policies }),
  };
  return { functions: found, context, reported };
}

/** Pieces of entries are small: one call for each form and entry would be most of the time. */
const HASHED_CHARACTERS = 65_536;

function digestOf(pieces: Iterable<string>): Digest {
  const hash = createHash('sha256');
  let pending = '';
  for (const piece of pieces) {
    pending += piece;
    if (pending.length < HASHED_CHARACTERS) continue;
    hash.update(pending);
    pending = '';
  }
  return `sha256:${hash.update(pending).digest('hex')}`;
}
