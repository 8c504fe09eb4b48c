import { misplacedReason, type Subject } from '@krmhub/consume/trust/judge-release';
import type { Reference } from '@krmhub/oci';
import {
  type Check,
  failedCheck,
  hasSubject,
  INVALID_PREDICATE,
  passedCheck,
  RELEASE_PREDICATE,
  readSnapshotClaim,
  SNAPSHOT_PREDICATE,
  type Statement,
  signedRelease,
} from '@krmhub/signing';

/** What the user named, and what is there. */
export interface NamedArtifact {
  subject: Subject;
  /** Absent for files. */
  reference?: Reference;
  now: Date;
}

/**
 * Compares what a bundle signs with what the user named, so that no registry can serve a signed release, function or
 * catalog as another one. Returns undefined if the artifact has no name to compare: for example, it is a script.
 */
export function checkName(statement: Statement | undefined, named: NamedArtifact): Check | undefined {
  const { subject } = named;
  const problem = subject.unreadable ?? misplacedReason(subject);
  if (problem !== undefined) return failedCheck('name', problem);
  if (statement?.predicateType === SNAPSHOT_PREDICATE) return checkSnapshot(statement, named);
  if (statement?.predicateType === RELEASE_PREDICATE) return checkRelease(statement, subject);
  return checkManifest(subject);
}

/** A snapshot must be valid if the user asks for the current one, with a tag such as `latest`. */
function checkSnapshot(statement: Statement, { subject, reference, now }: NamedArtifact): Check {
  const claim = readSnapshotClaim(statement);
  if (claim === undefined) return failedCheck('name', 'invalid snapshot predicate');
  const { catalog, serial, expires } = claim;
  const signed = `snapshot ${serial} of the catalog ${catalog}`;
  if (subject.definitions.length > 0)
    return failedCheck('name', `the signature is for ${signed}, not for a definition`);
  const isExpired = Date.parse(expires) <= now.getTime();
  if (reference !== undefined) {
    const { repository, tag } = reference;
    const [, asked = catalog] = /^catalogs\/([^/]+)$/.exec(repository) ?? [];
    const isSerial = tag !== undefined && /^\d+$/.test(tag);
    if (asked !== catalog)
      return failedCheck('name', `the signature is for ${signed}, not for the catalog ${asked}`);
    if (isSerial && Number(tag) !== serial)
      return failedCheck('name', `the signature is for ${signed}, not for snapshot ${tag}`);
    if (tag !== undefined && !isSerial && isExpired)
      return failedCheck('name', `the signature is for ${signed}, and expired at ${expires}`);
  }
  return passedCheck('name', `${signed}, ${isExpired ? 'expired at' : 'valid until'} ${expires}`);
}

/** A statement of a release names it. */
function checkRelease(statement: Statement, { definitions, definition, release }: Subject): Check {
  const signed = signedRelease(statement);
  if (signed === undefined) return failedCheck('name', INVALID_PREDICATE);
  if (definitions.length > 1)
    return failedCheck('name', `it contains ${definitions.length} definitions, expected one`);
  const [own = signed] = definitions;
  const name = `${signed.group}/${signed.kind}@${signed.release}`;
  const expected = `${own.group}/${own.kind}@${release?.name ?? signed.release}`;
  if (name !== expected) return failedCheck('name', `the signature is for ${name}, not for ${expected}`);
  if (definition !== undefined && !hasSubject(statement, [definition]))
    return failedCheck('name', `the signature is for another definition of ${name}`);
  return passedCheck('name', name);
}

/** Other statements name only digests, but the signed manifest may contain the release. */
function checkManifest({ definitions, release, manifests }: Subject): Check | undefined {
  const [only, ...others] = definitions;
  if (only === undefined || others.length > 0) return undefined;
  const name = `${only.group}/${only.kind}`;
  const version = manifests[0]?.version;
  if (release?.by === 'user' && version !== release.name) {
    const signed =
      version === undefined
        ? 'the signature does not contain the release'
        : `the signature is for a manifest of ${name}@${version}`;
    return failedCheck('name', `${signed}, expected ${name}@${release.name}`);
  }
  return passedCheck('name', version === undefined ? `${name} (no release signed)` : `${name}@${version}`);
}
