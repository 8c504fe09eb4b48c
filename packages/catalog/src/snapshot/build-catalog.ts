/**
 * Builds snapshots: selects the entry of each function, and renders the catalog and its report.
 *
 * The registry runs the same steps for changed functions only. `buildCatalog` runs them for all functions, without a
 * registry.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import {
  type Digest,
  type FunctionDefinition,
  type FunctionName,
  type ReportedSource,
  SNAPSHOT_RENDITIONS,
  type SnapshotRendition,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
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

/** An upstream entry, and when it was first seen with these bytes. */
export interface KnownEntry extends Pick<ReadEntry, 'facts'> {
  /** Digest of the rendered entry. */
  json: string;
  firstSeen: Time;
  /** When the source removed it. */
  goneAt?: Time;
}

/** The state of an upstream source. */
export interface BuildSource {
  /** The current entries, one per function. */
  entries: readonly KnownEntry[];
  /** Earlier entries, latest first for each function. */
  former: readonly KnownEntry[];
  /** The valid signatures of the catalog. */
  signatures: readonly SourceSignature[];
  reported: ReportedSource;
}

/** The inputs of a catalog, without its recipe. */
export interface BuildInputs {
  /** The time for minimum ages. */
  clock: Time;
  /** The functions of the registry. */
  functions: Iterable<BuildFunction>;
  /** The upstream sources of the recipe by name. */
  sources: ReadonlyMap<string, BuildSource>;
  /** The signing policies of the registry. Required if `followsRegistryPolicies(recipe)`. */
  policies?: readonly SigningPolicy[];
  /** Whether the catalog may contain a function. Absent if the registry hides nothing. */
  mayContain?: (name: FunctionName) => boolean;
}

/** A built snapshot, which is not stored. */
export interface BuiltCatalog extends Pick<SnapshotRecord, 'catalog' | 'labels' | 'digests' | 'sources'> {
  /** Number of entries. */
  count: number;
  /** All functions in the catalog or its report, in the order of `compareFunctionNames`. */
  functions: CatalogEntryRow[];
  /** In catalog order. */
  entries: RenderedEntry[];
}

/**
 * Builds a complete catalog with the same entries and bytes as the incremental builds of a registry. The result does
 * not depend on the order of functions, sources, and entries. Throws a RangeError if a source is missing.
 */
export function buildCatalog(recipe: Recipe, inputs: BuildInputs): BuiltCatalog {
  const material = collectInputs(recipe, inputs);
  const { mayContain = () => true } = inputs;
  const places: { place: CatalogEntryRow; entry?: RenderedEntry }[] = [];
  for (const { own, upstream, rendered } of material.functions.values()) {
    const offers = functionCandidates(recipe, own, upstream);
    if (offers === undefined || !mayContain(offers)) continue;
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
  const head = { catalog, ...defined({ labels }) };
  return {
    ...head,
    digests: Object.fromEntries(
      SNAPSHOT_RENDITIONS.map((form) => [
        form,
        computeDigest(builtCatalogPieces({ ...head, entries }, form)),
      ]),
    ) as Record<SnapshotRendition, Digest>,
    ...defined({ sources: material.reported.length === 0 ? undefined : material.reported }),
    count: entries.length,
    functions: places.map(({ place }) => place),
    entries,
  };
}

/** Renders the catalog in one format, in pieces as in `renderCatalog`. */
export function* builtCatalogPieces(
  { catalog, labels, entries }: Pick<BuiltCatalog, 'catalog' | 'labels' | 'entries'>,
  form: SnapshotRendition,
): Generator<string, void, undefined> {
  const pieces = catalogPieces(form, { name: catalog, ...defined({ labels }) });
  for (const entry of entries) yield pieces.entry(entry);
  yield pieces.end();
}

/** The inputs for one function. */
interface FunctionInputs {
  own?: BuildFunction & { facts?: ReadonlyMap<string, UpstreamEntry['versions']> };
  upstream: Map<string, UpstreamEntry[]>;
  /** JSON of upstream entries. */
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
  /** In recipe order. */
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
    // Also if all its releases were taken down.
    groups.add(fn.group);
    if (releases.length === 0) continue;
    const material = of(fn);
    const facts = () =>
      new Map(releases.map(({ release, definition }) => [release, versionFacts(definition)]));
    material.own = { ...fn, ...defined({ facts: withFacts ? facts() : undefined }) };
  }
  const signatures = new Map<string, readonly SourceSignature[]>();
  const reported: ReportedSource[] = [];
  for (const { name, catalog } of recipe.sources) {
    if (catalog === undefined) continue;
    const source = sources.get(name);
    if (source === undefined) throw new RangeError(`the copy of the source ${name} is missing`);
    signatures.set(name, source.signatures);
    reported.push(source.reported);
    const take = ({ json, facts, firstSeen, goneAt }: KnownEntry, material: FunctionInputs): void => {
      const entries = material.upstream.get(name) ?? [];
      entries.push({ ...facts, firstSeen, ...defined({ goneAt }) });
      material.upstream.set(name, entries);
      material.rendered.set(facts.definition, json);
    };
    for (const entry of source.entries) take(entry, of(entry.facts));
    for (const entry of source.former) {
      const material = found.get(functionKey(entry.facts));
      // Removed entries are not offered.
      if (material?.upstream.has(name)) take(entry, material);
    }
  }
  const context = {
    clock,
    ownsGroup: (group: string) => groups.has(group),
    signatures,
    ...defined({ policies }),
  };
  return { functions: found, context, reported };
}

/** Entries are small, so one call per format and entry would dominate the time. */
const HASHED_CHARACTERS = 65_536;

function computeDigest(pieces: Iterable<string>): Digest {
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
