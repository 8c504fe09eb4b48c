import {
  canonicalRelease,
  compareReleases,
  type FunctionDefinition,
  type FunctionName,
  newestRelease,
} from '@krmhub/schema';
import { releaseAttestations, releaseSignatures } from '../policy/signature-verdict.js';
import type { LifecycleRecord, ReleaseRecord, ReleaseSummary, SearchDocument } from '../ports/records.js';
import { definitionFacts, runtimeFacts } from './definition-facts.js';
import { imageNames, imageRepositories } from './image-repositories.js';

/**
 * Returns the newest of these releases by precedence, and a pre-release only if there is no other; undefined for an
 * empty list.
 */
export function newestByRelease<Release extends { release: string }>(
  releases: readonly Release[],
): Release | undefined {
  const newest = newestRelease(releases.map(({ release }) => release));
  return releases.find(({ release }) => release === newest);
}

/**
 * Returns the release that represents a function in search and on its page: the newest that is not yanked,
 * or the newest if all are yanked. Throws a RangeError for an empty list.
 */
export function displayedRelease(releases: readonly ReleaseSummary[]): ReleaseSummary {
  const displayed =
    newestByRelease(releases.filter(({ yanked }) => yanked === undefined)) ?? newestByRelease(releases);
  if (displayed === undefined) throw new RangeError('a function without releases');
  return displayed;
}

/**
 * Returns the release that a new one is compared with: the newest lower release that is not yanked, a
 * pre-release only if there is no other. Higher releases are ignored, so a patch of an older line is compared
 * with that line. Undefined if there is none.
 */
export function findPredecessor(
  current: { releases: readonly { release: string; yanked?: LifecycleRecord | undefined }[] } | undefined,
  release: string,
): string | undefined {
  const canonical = canonicalRelease(release);
  if (current === undefined || canonical === undefined) return undefined;
  return newestByRelease(
    current.releases.filter((one) => one.yanked === undefined && compareReleases(one.release, canonical) < 0),
  )?.release;
}

/** Builds the search document of a function. `displayed` is the record of `displayedRelease(releases)`. */
export function searchDocument(
  name: FunctionName,
  releases: readonly ReleaseSummary[],
  displayed: ReleaseRecord,
): SearchDocument {
  return {
    group: name.group,
    kind: name.kind,
    description: displayed.definition.description,
    publisher: displayed.publisher,
    release: displayed.release,
    versions: displayed.versions,
    tags: displayed.tags,
    runtimes: displayed.runtimes,
    licenses: displayed.licenses,
    ...runtimeFacts(displayed.definition),
    images: imageRepositories(displayed.definition),
    yanked: releases.every(({ yanked }) => yanked !== undefined),
    deprecated: displayed.deprecated !== undefined,
    signatures: releaseSignatures(displayed),
    attestations: releaseAttestations(displayed),
    published: displayed.publishedAt,
  };
}

/** Limits on search documents of upstream entries, which are not linted, with their units. */
const ENTRY_TEXT_LIMITS = {
  /** Length of a description, in UTF-16 code units. Lint allows the same length for definitions. */
  maxDescriptionLength: 10_000,
  /** Length of a publisher, a tag, and a license, in UTF-16 code units. */
  maxValueLength: 500,
  /** Number of tags. */
  maxTags: 50,
} as const;

/**
 * Builds the search document of a function that exists only in upstream catalogs. Truncates long text. Omits long tags
 * and licenses, because half of one must not match a search.
 */
export function upstreamSearchDocument(
  definition: FunctionDefinition,
): Omit<SearchDocument, 'release' | 'yanked' | 'deprecated' | 'signatures' | 'attestations' | 'published'> {
  const { group, names, description } = definition;
  const { maxDescriptionLength, maxValueLength, maxTags } = ENTRY_TEXT_LIMITS;
  const { publisher, tags, licenses, ...facts } = definitionFacts(definition);
  const isShort = (value: string) => value.length <= maxValueLength;
  return {
    group,
    kind: names.kind,
    description: truncate(description, maxDescriptionLength),
    publisher: truncate(publisher, maxValueLength),
    tags: tags.filter(isShort).slice(0, maxTags),
    licenses: licenses.filter(isShort),
    ...facts,
    ...runtimeFacts(definition),
    images: imageNames(definition),
  };
}

/** Truncates a text without splitting a surrogate pair. */
function truncate(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}
