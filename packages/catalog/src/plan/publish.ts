/**
 * Plans changes of releases: publish, attach a signature, yank, deprecate, and take down.
 *
 * A plan is a function of the current records, so that a store can apply it in one transaction, or reject it if the
 * records changed.
 *
 * @module
 */

import {
  canonicalJson,
  canonicalRelease,
  compareReleases,
  type Diagnostic,
  type Digest,
  DOCUMENT_LIMITS,
  type FunctionDefinition,
  type FunctionName,
  hasErrors,
  KrmhubError,
  lint,
  sha256,
  type Takedown,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type {
  DefinitionMediaType,
  FunctionChange,
  FunctionRecord,
  ReleaseRecord,
  ReleaseSummary,
  Time,
} from '../ports/records.js';
import { checkCompatibility } from './check-compatibility.js';
import { checkSubmission } from './check-submission.js';
import { definitionFacts } from './definition-facts.js';
import { displayedRelease, findPredecessor, searchDocument } from './displayed-release.js';
import { PUBLISH_LIMITS, publishDiagnostic } from './publish-codes.js';
import { releaseWords } from './release-words.js';
import { tombstoneConflict } from './takedown.js';

export interface PublishInput {
  name: FunctionName;
  /**
   * The function. The kind can be in lower case, as in repositories; the definition of a new function sets its
   * spelling.
   */
  kindFolded?: boolean;
  /** The release as the publisher wrote it: `v0.3` is `0.3.0`. */
  release: string;
  /** The exact bytes of the definition. */
  bytes: Uint8Array;
  mediaType: DefinitionMediaType;
  /** The exact bytes of the README, in Markdown. */
  readme?: Uint8Array;
  /** What is new in the release, in Markdown. */
  notes?: string;
  /** The run of a workflow that publishes it. */
  run?: ReleaseRecord['run'] & object;
  /** The function with the same group, and the same kind ignoring case. */
  current: FunctionRecord | undefined;
  /** The release with the same canonical name. */
  currentRelease: ReleaseRecord | undefined;
  /** The tombstones of the function, whose names and bytes are rejected. */
  takedowns: readonly Takedown[];
  /** The record of `displayedRelease(current.releases)`. */
  displayed: ReleaseRecord | undefined;
  /** The record of `findPredecessor(current, release)`. */
  predecessor: ReleaseRecord | undefined;
  /** Whether breaking changes are warnings instead of errors. */
  allowBreaking: boolean;
  now: Time;
  by: string;
  /** The file name in diagnostics. */
  file?: string;
}

export type PublishPlan =
  /** `files` are the bytes of the definition and the README, durable before the change or with it. */
  | { outcome: 'created'; change: FunctionChange; diagnostics: Diagnostic[]; files: Uint8Array[] }
  /**
   * The release already exists with these bytes. It is not linted again, because rules can change but releases cannot.
   */
  | { outcome: 'unchanged'; release: ReleaseRecord; diagnostics: Diagnostic[] }
  | { outcome: 'conflict'; error: KrmhubError }
  | { outcome: 'invalid'; diagnostics: Diagnostic[] };

/** Returns the name of a submitted definition in diagnostics. */
export function definitionFile(mediaType: DefinitionMediaType): string {
  return mediaType === 'application/json' ? 'definition.json' : 'definition.yaml';
}

/** Plans the publishing of a release. `current` and the records of its releases have the same revision. */
export function planPublish(input: PublishInput): PublishPlan {
  const { bytes, current, currentRelease, readme, notes } = input;
  const file = input.file ?? definitionFile(input.mediaType);
  const release = canonicalRelease(input.release);
  const digest = sha256(bytes);
  const refusal = release && tombstoneConflict(input.takedowns, { release, digest });
  if (refusal) return { outcome: 'conflict', error: refusal };
  if (release !== undefined && currentRelease !== undefined && current?.kind === input.name.kind) {
    return compareWithExisting(currentRelease, { bytes, digest, readme, notes });
  }
  const { diagnostics, definition } = checkSubmission({ ...input, file });
  if (release === undefined || release.length > PUBLISH_LIMITS.maxReleaseLength) {
    diagnostics.unshift(publishDiagnostic('publish/release', file, releaseMessage(input.release, release)));
  }
  if (definition !== undefined && release !== undefined && !hasErrors(diagnostics)) {
    const before = checkedPredecessor(input, release);
    if (before !== undefined) diagnostics.push(...checkCompatibility({ ...input, file, before, definition }));
  }
  if (definition === undefined || release === undefined || hasErrors(diagnostics)) {
    return { outcome: 'invalid', diagnostics };
  }
  const record = releaseRecord(input, { release, digest, definition });
  return {
    outcome: 'created',
    change: createChange(input, record),
    diagnostics,
    files: readme === undefined ? [bytes] : [bytes, readme],
  };
}

function checkedPredecessor(input: PublishInput, release: string): ReleaseRecord | undefined {
  const expected = findPredecessor(input.current, release);
  if (input.predecessor?.release !== expected) {
    throw new RangeError(`the predecessor is ${input.predecessor?.release} where ${expected} is needed`);
  }
  return input.predecessor;
}

function compareWithExisting(
  stored: ReleaseRecord,
  {
    bytes,
    digest,
    readme,
    notes,
  }: {
    bytes: Uint8Array;
    digest: Digest;
    readme: Uint8Array | undefined;
    notes: string | undefined;
  },
): PublishPlan {
  const label = `${stored.group}/${stored.kind}@${stored.release}`;
  const hint = 'A release cannot change. Publish the change as a new release.';
  if (digest !== stored.digest) {
    const message = `${label} already exists with the digest ${stored.digest}, and these bytes have the digest ${digest}`;
    const same = hasSameContent(stored, bytes)
      ? `Only the formatting of the definition differs, so you do not need to publish it. ${hint}`
      : hint;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, { hint: same }) };
  }
  if (readme !== undefined && sha256(readme) !== stored.readme) {
    const stands =
      stored.readme === undefined ? 'without a README' : `with a README with the digest ${stored.readme}`;
    const message = `${label} already exists ${stands}, and the new README has the digest ${sha256(readme)}`;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, { hint }) };
  }
  if (notes !== undefined && notes !== stored.notes) {
    const stands = stored.notes === undefined ? 'without notes' : 'with other notes';
    const message = `${label} already exists ${stands}`;
    return { outcome: 'conflict', error: new KrmhubError('conflict', message, { hint }) };
  }
  return { outcome: 'unchanged', release: stored, diagnostics: [] };
}

/** Reports whether only formatting differs, for example if a file is published alone and then in a catalog. */
function hasSameContent(stored: ReleaseRecord, bytes: Uint8Array): boolean {
  if (bytes.byteLength > DOCUMENT_LIMITS.maxDefinitionBytes) return false;
  const { documents } = lint(bytes, { file: 'definition.yaml' });
  const [document] = documents;
  if (documents.length !== 1 || document?.kind !== 'KRMFunctionDefinition') return false;
  try {
    return canonicalJson(document.definition) === canonicalJson(stored.definition);
  } catch {
    return false;
  }
}

function releaseMessage(written: string, release: string | undefined): string {
  if (release !== undefined) {
    return `the release has ${release.length} characters; the limit of image tags is ${PUBLISH_LIMITS.maxReleaseLength}`;
  }
  return written.includes('+')
    ? `the release "${written}" has build metadata, which an image tag cannot contain`
    : `the release "${written}" is not a SemVer version`;
}

/** What a release has only later. */
type LaterFields = 'yanked' | 'deprecated' | 'bundles';
/** Every other field, also an optional one: the compiler names one that `releaseRecord` does not set. */
type NewRelease = {
  [Field in keyof Required<Omit<ReleaseRecord, LaterFields>>]: ReleaseRecord[Field];
};

function releaseRecord(
  input: PublishInput,
  { release, digest, definition }: { release: string; digest: Digest; definition: FunctionDefinition },
): ReleaseRecord {
  const { bytes, mediaType, readme, notes, run, now, by } = input;
  const fields: NewRelease = {
    group: definition.group,
    kind: definition.names.kind,
    release,
    digest,
    size: bytes.byteLength,
    ...definitionFacts(definition),
    publishedAt: now,
    publishedBy: by,
    mediaType,
    definition,
    readme: readme === undefined ? undefined : sha256(readme),
    notes,
    run,
  };
  return defined(fields);
}

function createChange(input: PublishInput, record: ReleaseRecord): FunctionChange {
  const { current, displayed: newest, now, by } = input;
  const { group, kind, release, digest } = record;
  const releases: ReleaseSummary[] = [...(current?.releases ?? []), record].sort((a, b) =>
    compareReleases(b.release, a.release),
  );
  const expected = displayedRelease(releases).release;
  const shown = expected === release ? record : newest;
  if (shown?.release !== expected)
    throw new RangeError(`newest is ${shown?.release} where ${expected} is needed`);
  return {
    group,
    kind,
    expectedRevision: current?.revision ?? 0,
    action: 'insert',
    release: record,
    words: releaseWords(record.definition, input.readme),
    search: searchDocument(record, releases, shown),
    event: { type: 'release.published', at: now, by, group, kind, release, digest },
  };
}
