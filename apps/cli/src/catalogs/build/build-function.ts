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

/** What a registry says of a function, as a build takes it. Throws `unreachable` for what no registry says. */
export function buildFunction(exported: ExportedFunction, where: string): BuildFunction {
  const { group, kind, releases } = exported;
  const refuse = (what: string): never => {
    throw new KrmhubError('unreachable', `${where} gives what no krmhub registry gives: ${what}`, {
      hint: 'Check the address of the registry, or where the file comes from.',
    });
  };
  if (!isGroup(group) || !isKind(kind)) refuse('a function whose group or kind is none');
  const name = `${group}/${kind}`;
  if (new Set(releases.map(({ release }) => release)).size < releases.length) {
    refuse(`${name} has a release twice`);
  }
  return { group, kind, releases: releases.map((one) => buildRelease(one, name, refuse)) };
}

function buildRelease(
  exported: ExportedRelease,
  name: string,
  refuse: (what: string) => never,
): BuildFunction['releases'][number] {
  const { release, digest, versions, runtimes, definition, bundles, yanked, deprecated, ...rest } = exported;
  const what = `${name}@${release}`;
  if (canonicalRelease(release) !== release) refuse(`${name} has a release whose name is none`);
  if (!isDigest(digest)) refuse(`the digest of ${what} is none`);
  if (!runtimes.every((one) => (RUNTIME_KINDS as readonly string[]).includes(one))) {
    refuse(`${what} has an unknown runtime`);
  }
  const served = new Set(definition.versions.map((version) => version.name));
  if (versions.length !== served.size || !versions.every((version) => served.has(version))) {
    refuse(`${what} serves other API versions than its definition`);
  }
  return {
    ...rest,
    release,
    digest: digest as Digest,
    versions,
    runtimes,
    definition,
    ...(yanked === undefined ? {} : { yanked }),
    ...(deprecated === undefined ? {} : { deprecated }),
    ...(bundles === undefined ? {} : { bundles: bundles.map((bundle) => buildBundle(bundle, what, refuse)) }),
  };
}

function buildBundle(
  { signer, signedAt, digest, ...rest }: ExportedBundle,
  what: string,
  refuse: (what: string) => never,
): ReleaseBundle {
  const common = { ...rest, digest: digest as Digest, ...(signedAt === undefined ? {} : { signedAt }) };
  if (signer === undefined) return common;
  const read = signerOf(signer);
  return read === undefined
    ? refuse(`a signer of ${what} is neither a key nor an identity`)
    : { ...common, signer: read };
}

/** Undefined for what is neither a key nor an identity. */
export function signerOf({ type, fingerprint, issuer, subject }: ExportedSigner): Signer | undefined {
  if (type === 'key') {
    return fingerprint !== undefined && isDigest(fingerprint) ? { type, fingerprint } : undefined;
  }
  if (type !== 'identity' || issuer === undefined || subject === undefined) return undefined;
  return { type, issuer, subject };
}
