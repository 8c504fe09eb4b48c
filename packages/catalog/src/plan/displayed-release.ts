import {
  canonicalRelease,
  compareReleases,
  type FunctionDefinition,
  type FunctionName,
  newestRelease,
} from '@krmhub/schema';
import { releaseSignatures } from '../policy/signature-verdict.js';
import type { LifecycleRecord, ReleaseRecord, ReleaseSummary, SearchDocument } from '../ports/records.js';
import { definitionFacts } from './definition-facts.js';

/** The newest of these releases by precedence, pre-releases only where nothing else exists; undefined for none. */
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

/** What search finds the function by; `displayed` is the record of `displayedRelease(releases)`. */
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
    yanked: releases.every(({ yanked }) => yanked !== undefined),
    deprecated: displayed.deprecated !== undefined,
    signatures: releaseSignatures(displayed),
  };
}

/** What search takes from an entry of an upstream catalog, which no one has linted: each with its unit. */
const ENTRY_TEXT_LIMITS = {
  /** UTF-16 code units of a description; of a definition that is published, lint allows as many. */
  maxDescriptionLength: 10_000,
  /** UTF-16 code units of a publisher, a tag and a license. */
  maxValueLength: 500,
  /** Tags. */
  maxTags: 50,
} as const;

/**
 * What search finds a function by that only upstream catalogs have: all but the release, and what is known of it.
 * Truncates long text. Omits long tags and licenses, because half of one must not match a search.
 */
export function upstreamSearchDocument(
  definition: FunctionDefinition,
): Omit<SearchDocument, 'release' | 'yanked' | 'deprecated' | 'signatures'> {
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
  };
}

/** The beginning of a text, with no half of a surrogate pair at its end. */
function truncate(text: string, length: number): string {
  return text.length <= length ? text : text.slice(0, length).replace(/[\ud800-\udbff]$/, '');
}
