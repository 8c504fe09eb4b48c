import {
  canonicalJson,
  compareApiVersions,
  type Digest,
  type FunctionName,
  type JsonObject,
  type Refused,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import semver from 'semver';
import { newestByRelease } from '../plan/displayed-release.js';
import { releaseAttestations, releaseSignatures } from '../policy/signature-verdict.js';
import type { SigningPolicy } from '../policy/signing-policy.js';
import type { ReleaseAttestation, ReleaseSummary, Selection, Time } from '../ports/records.js';
import type { SourceSignature, UpstreamEntry, VersionFacts } from '../ports/source-records.js';
import { evaluatePolicy } from '../recipe/evaluate-policy.js';
import {
  followsRegistryPolicies,
  type Recipe,
  type RecipeSource,
  requiredSignatures,
  type SelectableFields,
  sourceMatches,
  type UpstreamCatalog,
} from '../recipe/recipe.js';
import { rewriteReferences } from '../recipe/rewrite.js';

/** The releases and entries of all sources for one function. Kinds that differ only in case are one function. */
export interface FunctionCandidates extends FunctionName {
  /** The releases of this registry. */
  releases: readonly ReleaseSummary[];
  /** Facts by release. Required if `needsFacts(recipe)`. */
  facts?: ReadonlyMap<string, readonly VersionFacts[]>;
  /**
   * Upstream entries by source name: the current entry, then earlier ones, latest first. Removed entries are not
   * included.
   */
  upstream?: ReadonlyMap<string, readonly UpstreamEntry[]>;
}

/** The context of a build. */
export interface SelectionContext {
  /** The time for minimum ages. */
  clock: Time;
  /** Reports whether this registry has a release in a group. */
  ownsGroup(group: string): boolean;
  /** The valid signatures of upstream catalogs by source name. */
  signatures: ReadonlyMap<string, readonly SourceSignature[]>;
  /** The signing policies of the registry. Required if `followsRegistryPolicies(recipe)`. */
  policies?: readonly SigningPolicy[];
  /** Why the visibility of the function excludes it. */
  excludedBy?: string;
}

/** The context for recipes without upstream sources. */
export const NO_UPSTREAMS: SelectionContext = { clock: '', ownsGroup: () => true, signatures: new Map() };

/** Reports whether a recipe requires facts of definitions in addition to release summaries. */
export function needsFacts({ sources, policy }: Recipe): boolean {
  return (
    policy !== undefined ||
    sources.some(({ rewrite, catalog }) => rewrite !== undefined && catalog === undefined)
  );
}

/** Reports whether a source of this registry matches a release. Ignores yanks and policies. */
export function isCandidate({ sources }: Recipe, name: FunctionName, release: ReleaseSummary): boolean {
  return sources.some((source) => source.catalog === undefined && acceptsRelease(source, name, release));
}

function acceptsRelease(source: RecipeSource, name: FunctionName, release: ReleaseSummary): boolean {
  if (!sourceMatches(source, name, release)) return false;
  return source.release === undefined || semver.satisfies(release.release, source.release);
}

/**
 * Selects the provider of each API version of a function. Each source in order provides API versions that no earlier
 * source provides: from this registry, the newest matching release that serves the API version, is not yanked, and
 * passes the policy; from an upstream catalog, its entry. The result depends only on the arguments, so an incremental
 * build equals a full build.
 */
export function selectFunction(
  recipe: Recipe,
  candidates: FunctionCandidates,
  context: SelectionContext = NO_UPSTREAMS,
): Selection {
  const selection = new SelectionBuilder(recipe, candidates, context);
  for (const source of recipe.sources) selection.take(source);
  return selection.finish();
}

/** A release or an entry, for selectors and policies. */
interface Candidate {
  kind: string;
  release?: string;
  definition: Digest;
  /** API versions. */
  versions: readonly string[];
  summary: SelectableFields;
  facts: readonly VersionFacts[] | undefined;
  signatures: readonly SourceSignature[];
  attestations?: readonly ReleaseAttestation[];
  yanked: boolean;
  /** When an entry reaches its minimum age. */
  availableAt?: Time;
}

class SelectionBuilder {
  readonly #recipe: Recipe;
  readonly #candidates: FunctionCandidates;
  readonly #context: SelectionContext;
  readonly #required: readonly SigningPolicy[];
  readonly #versions: Selection['versions'] = [];
  readonly #shadowed: Selection['shadowed'] = [];
  readonly #yanked: Selection['yanked'] = [];
  readonly #refused: NonNullable<Selection['refused']> = [];
  /** The spelling of the first source. */
  #kind: string | undefined;

  constructor(recipe: Recipe, candidates: FunctionCandidates, context: SelectionContext) {
    if (followsRegistryPolicies(recipe) && context.policies === undefined) {
      throw new RangeError(`the signing policies that the recipe of ${recipe.name} follows are needed`);
    }
    this.#recipe = recipe;
    this.#required = requiredSignatures(recipe, context.policies ?? []);
    this.#candidates = candidates;
    this.#context = context;
  }

  take(source: RecipeSource): void {
    const candidates =
      source.catalog === undefined ? this.#releases(source) : this.#entries(source, source.catalog);
    for (const version of apiVersions(candidates)) {
      const serving = candidates.filter(({ versions }) => versions.includes(version));
      const notYanked = serving.filter(({ yanked }) => !yanked);
      const judged = notYanked.map((candidate) => ({
        candidate,
        ...this.#evaluate(source, candidate, version),
      }));
      const wanted = newestCandidate(notYanked);
      const refused = judged.find(({ candidate }) => candidate === wanted);
      if (refused !== undefined && refused.reasons.length > 0) {
        const { candidate, reasons } = refused;
        this.#refused.push({ version, source: source.name, ...releaseField(candidate.release), reasons });
      }
      const passing = judged.filter(({ reasons }) => reasons.length === 0);
      const best = newestCandidate(passing.map(({ candidate }) => candidate));
      this.#record(
        source,
        version,
        passing.find(({ candidate }) => candidate === best),
        newestCandidate(serving)!,
      );
    }
  }

  finish(): Selection {
    const { group, kind } = this.#candidates;
    return {
      group,
      kind: this.#kind ?? kind,
      versions: this.#versions.sort((a, b) => compareApiVersions(a.name, b.name)),
      shadowed: this.#shadowed,
      ...defined({ refused: this.#refused.length === 0 ? undefined : this.#refused }),
      yanked: this.#yanked,
    };
  }

  #record(
    source: RecipeSource,
    name: string,
    chosen: EvaluatedCandidate | undefined,
    wanted: Candidate,
  ): void {
    const earlier = this.#versions.find((version) => version.name === name);
    if (earlier !== undefined) {
      if (chosen === undefined) return;
      const by = { source: earlier.source, ...releaseField(earlier.release) };
      this.#shadowed.push({
        version: name,
        source: source.name,
        ...releaseField(chosen.candidate.release),
        by,
      });
      return;
    }
    const { release = '', yanked } = wanted;
    const known = this.#yanked.some((one) => one.source === source.name && one.release === release);
    if (yanked && !known) this.#yanked.push({ release, source: source.name });
    if (chosen === undefined) return;
    const { candidate, signedBy, rewritten } = chosen;
    this.#kind ??= candidate.kind;
    this.#versions.push({
      name,
      source: source.name,
      ...releaseField(candidate.release),
      definition: candidate.definition,
      ...defined({ signedBy, rewritten: rewritten || undefined }),
    });
  }

  #releases(source: RecipeSource): Candidate[] {
    const { group, kind, releases, facts } = this.#candidates;
    return releases
      .filter((release) => acceptsRelease(source, { group, kind }, release))
      .map((release) => ({
        kind,
        release: release.release,
        definition: release.digest,
        versions: release.versions,
        summary: release,
        facts: facts?.get(release.release),
        signatures: releaseSignatures(release),
        attestations: releaseAttestations(release),
        yanked: release.yanked !== undefined,
      }));
  }

  /**
   * Returns the current entry, and while it is too young also the latest earlier entry that reached the minimum age
   * while it was current. An entry that was replaced earlier must not return.
   */
  #entries(source: RecipeSource, { minimumAgeSeconds }: UpstreamCatalog): Candidate[] {
    const known = this.#candidates.upstream?.get(source.name) ?? [];
    const availableAt = ({ firstSeen }: UpstreamEntry): Time | undefined => {
      if (minimumAgeSeconds === undefined) return undefined;
      const time = minimumAgeReachedAt(firstSeen, minimumAgeSeconds);
      return time <= this.#context.clock ? undefined : time;
    };
    const [current, ...before] = known;
    const old =
      known.length === 0 || availableAt(current!) === undefined
        ? undefined
        : before.find(
            ({ firstSeen, goneAt = firstSeen }) =>
              minimumAgeReachedAt(firstSeen, minimumAgeSeconds ?? 0) <= goneAt,
          );
    return [current, old]
      .filter((entry) => entry !== undefined)
      .filter((entry) => sourceMatches(source, entry, entry))
      .map((entry) => {
        const time = availableAt(entry);
        return {
          kind: entry.kind,
          definition: entry.definition,
          versions: entry.versions.map(({ name }) => name),
          summary: entry,
          facts: entry.versions,
          signatures: this.#context.signatures.get(source.name) ?? [],
          yanked: false,
          ...defined({ availableAt: time }),
        };
      });
  }

  #evaluate(
    source: RecipeSource,
    candidate: Candidate,
    version: string,
  ): Omit<EvaluatedCandidate, 'candidate'> {
    const { excludedBy } = this.#context;
    if (excludedBy !== undefined) {
      return { reasons: [{ code: 'visibility', message: excludedBy }], rewritten: false };
    }
    const { group } = this.#candidates;
    const { kind, release, availableAt, summary, signatures, attestations } = candidate;
    const reasons: Reason[] = [];
    const claim = groupConflict(this.#recipe, source, group, this.#context.ownsGroup);
    if (claim !== undefined) reasons.push({ code: 'claim', message: claim });
    if (this.#kind !== undefined && kind !== this.#kind) {
      const message = `its kind ${kind} differs only in case from ${this.#kind}, which an earlier source provides`;
      reasons.push({ code: 'kind-case', message });
    }
    if (availableAt !== undefined) {
      reasons.push({
        code: 'minimum-age',
        message: `it has not reached the minimum age; it is available from ${availableAt}`,
      });
    }
    if (!needsFacts(this.#recipe) && source.rewrite === undefined) return { reasons, rewritten: false };
    const facts = candidate.facts?.find(({ name }) => name === version);
    if (facts === undefined) throw new RangeError(`the facts of ${group}/${kind} ${version} are needed`);
    const { changed, problem } = rewriteReferences(source.rewrite ?? [], facts.references);
    if (problem !== undefined) reasons.push({ code: 'rewrite', message: problem });
    const judged = evaluatePolicy(
      this.#recipe.policy,
      { group, kind, ...releaseField(release), summary, facts, signatures, ...defined({ attestations }) },
      this.#required,
    );
    return { ...judged, reasons: [...reasons, ...judged.reasons], rewritten: changed };
  }
}

type Reason = Refused['reasons'][number];

interface EvaluatedCandidate {
  candidate: Candidate;
  reasons: Reason[];
  signedBy?: string;
  rewritten: boolean;
}

/**
 * Returns why a source does not own a group. A group belongs to the sources with the group in `match`. Otherwise, it
 * belongs to this registry if the registry has a release in it, and else to no one.
 */
function groupConflict(
  { sources }: Recipe,
  source: RecipeSource,
  group: string,
  ownsGroup: SelectionContext['ownsGroup'],
): string | undefined {
  if (matchesGroup(source, group)) return undefined;
  const owner = sources.find((one) => matchesGroup(one, group));
  if (owner !== undefined) return `the group ${group} belongs to the source ${owner.name}, which lists it`;
  if (source.catalog === undefined || !ownsGroup(group)) return undefined;
  return `the group ${group} belongs to this registry, which has functions in it`;
}

function matchesGroup({ match }: RecipeSource, group: string): boolean {
  return match?.some((selector) => selector.group === group) ?? false;
}

/** Returns when an entry reaches its minimum age. */
export function minimumAgeReachedAt(firstSeen: Time, minimumAgeSeconds: number): Time {
  return new Date(Date.parse(firstSeen) + minimumAgeSeconds * 1_000).toISOString();
}

/** Compares by precedence. Entries have no release and come first. */
function newestCandidate(candidates: readonly Candidate[]): Candidate | undefined {
  const releases = candidates.filter(
    (candidate): candidate is Candidate & { release: string } => candidate.release !== undefined,
  );
  return releases.length === 0 ? candidates[0] : newestByRelease(releases);
}

function releaseField(release: string | undefined): { release?: string } {
  return release === undefined ? {} : { release };
}

/** Reports whether two selections are equal, including their reports. */
export function isSameSelection(a: Selection, b: Selection): boolean {
  const text = ({ group, kind, versions, shadowed, refused = [], yanked }: Selection) =>
    canonicalJson({ group, kind, versions, shadowed, refused, yanked } as unknown as JsonObject);
  return text(a) === text(b);
}

/** Reports whether two selections have the same providers for each API version in a snapshot. */
export function isSameProvenance(a: Selection, b: Selection): boolean {
  const text = ({ group, kind, versions }: Selection) =>
    canonicalJson({ group, kind, versions } as unknown as JsonObject);
  return text(a) === text(b);
}

/** Returns the API versions of all candidates, most preferred first. */
function apiVersions(candidates: readonly Candidate[]): string[] {
  return [...new Set(candidates.flatMap(({ versions }) => versions))].sort(compareApiVersions);
}
