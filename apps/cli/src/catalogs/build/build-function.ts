import type {
  ExportedBundle,
  ExportedFunction,
  ExportedRelease,
  ExportedSigner,
} from '@krmhub/api/export-model';
import type { BuildFunction, ReleaseBundle, Signer } from '@krmhub/catalog';
import {
  canonicalRelease,
  type Digest,
  isDigest,
  isGroup,
  isKind,
  KrmhubError,
  RUNTIME_KINDS,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** Converts an exported function for a build. Throws `unreachable` with the hint for data that no registry returns. */
export function parseFunction(exported: ExportedFunction, where: string, hint: string): BuildFunction {
  const { group, kind, releases } = exported;
  const refuse = (what: string): never => {
    throw new KrmhubError('unreachable', `unexpected response from ${where}: ${what}`, { hint });
  };
  if (!isGroup(group) || !isKind(kind)) refuse('a function has no valid group or kind');
  const name = `${group}/${kind}`;
  if (new Set(releases.map(({ release }) => release)).size < releases.length) {
    refuse(`${name} has a duplicate release`);
  }
  return { group, kind, releases: releases.map((one) => parseRelease(one, name, refuse)) };
}

function parseRelease(
  exported: ExportedRelease,
  name: string,
  refuse: (what: string) => never,
): BuildFunction['releases'][number] {
  const { release, digest, versions, runtimes, definition, bundles, yanked, deprecated, ...rest } = exported;
  const what = `${name}@${release}`;
  if (canonicalRelease(release) !== release) refuse(`${name} has an invalid release`);
  if (!isDigest(digest)) refuse(`${what} has an invalid digest`);
  if (!runtimes.every((one) => (RUNTIME_KINDS as readonly string[]).includes(one))) {
    refuse(`${what} has an unknown runtime`);
  }
  const served = new Set(definition.versions.map((version) => version.name));
  if (versions.length !== served.size || !versions.every((version) => served.has(version))) {
    refuse(`the API versions of ${what} differ from its definition`);
  }
  return {
    ...rest,
    release,
    digest: digest as Digest,
    versions,
    runtimes,
    definition,
    ...defined({ yanked, deprecated, bundles: bundles?.map((bundle) => parseBundle(bundle, what, refuse)) }),
  };
}

function parseBundle(
  { signer, signedAt, digest, ...rest }: ExportedBundle,
  what: string,
  refuse: (what: string) => never,
): ReleaseBundle {
  const common = { ...rest, digest: digest as Digest, ...defined({ signedAt }) };
  if (signer === undefined) return common;
  const read = parseSigner(signer);
  return read === undefined
    ? refuse(`a signer of ${what} is neither a key nor an identity`)
    : { ...common, signer: read };
}

/** Parses a signer; undefined if it is neither a key nor an identity. */
export function parseSigner({
  type,
  fingerprint,
  issuer,
  subject,
  source,
}: ExportedSigner): Signer | undefined {
  if (type === 'key') {
    return fingerprint !== undefined && isDigest(fingerprint) ? { type, fingerprint } : undefined;
  }
  if (type !== 'identity' || issuer === undefined || subject === undefined) return undefined;
  return { type, issuer, subject, ...defined({ source }) };
}
