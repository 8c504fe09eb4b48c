import { fillPath } from '@krmhub/api/paths';
import {
  builtFrom,
  describeSigner,
  lockedRuntimeDifference,
  type PinnedRuntime,
  policyKeys,
  unsignedField,
} from '@krmhub/catalog';
import type { FunctionDefinition, FunctionVersion } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type Digest, isDigest, sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import { type Trust, verifyBundle } from '@krmhub/signing';
import type { Cache } from '../cache/cache.js';
import type { DocumentFetcher } from '../cache/fetch-document.js';
import { RESOLVE_LIMITS } from '../limits.js';
import type { Clock, Environment, WorkingFolder } from '../ports.js';
import { type Evidence, judgeEvidence, planJudgement } from './judge-release.js';
import { readPublishedDefinition } from './published-definition.js';
import { formatRelease, type RegistryRelease } from './registry-release.js';
import { requireTrustStore } from './trust-file.js';
import { trustedRoot } from './trusted-root-file.js';

export interface JudgeContext {
  io: Clock & Environment & WorkingFolder;
  cache: Cache;
  fetcher: DocumentFetcher;
}

/** What has to be trusted: an API version of a catalog entry, and the release that it is said to come from. */
export interface JudgedEntry {
  group: string;
  kind: string;
  /** API version of the functionConfig. */
  name: string;
  /** Absent where the catalog does not say. */
  release?: RegistryRelease;
  /** The entry that is going to run, or the runtime that a lock file has: either must be what was signed. */
  version?: FunctionVersion;
  locked?: PinnedRuntime;
}

const HINT = 'Nothing was run. List the trusted signers: krmhub trust list';

/** In words. */
export interface EntrySigner {
  signedBy: string;
  /** What was built and signed, if the certificate says that. Has foreign text. */
  builtFrom?: string;
}

/**
 * Judges an entry by the signing policies of this user. Returns who signed its release; undefined if no
 * policy covers it. Throws `untrusted` if a policy covers it and no trusted signer signed exactly this: absent evidence
 * is a refusal.
 */
export async function judgeEntry(
  context: JudgeContext,
  entry: JudgedEntry,
): Promise<EntrySigner | undefined> {
  const { io } = context;
  const { policies } = (await requireTrustStore(io)).trust;
  const { group, kind, release } = entry;
  const plan = planJudgement(policies, {
    definitions: [{ group, kind }],
    manifests: [],
    ...defined({
      definition: release?.definition,
      release: release === undefined ? undefined : { name: release.release, by: 'artifact' as const },
    }),
  });
  if (plan.judge === 'nothing') return undefined;
  const what = release === undefined ? `the entry of ${group}/${kind}` : formatRelease(release);
  if (plan.judge !== 'release' || release === undefined) {
    const reason = plan.judge === 'refused' ? plan.reason : 'its release is unknown';
    throw untrusted(
      what,
      release === undefined
        ? `a policy covers it, but the catalog does not specify its release: ${reason}`
        : reason,
    );
  }
  const trust: Trust = {
    keys: policyKeys(policies),
    root: await trustedRoot(io, undefined),
  };
  const evidence: Evidence[] = (await readBundles(context, release)).map((bytes) => ({
    source: sha256(bytes),
    verification: verifyBundle(bytes, { digests: [release.definition] }, trust),
  }));
  const judgement = judgeEvidence(plan, evidence, io.now().toISOString());
  if (!judgement.trusted) {
    const each =
      judgement.bundles.length > 1
        ? judgement.bundles.map(({ source, message }) => `${source}: ${message}`)
        : [];
    throw untrusted(what, [judgement.reason, ...each].join('\n'));
  }
  if (entry.version !== undefined) {
    const signed = await readSignedVersion(context, release, entry.name);
    const field = signed === undefined ? 'name' : unsignedField(entry.version, signed);
    if (field !== undefined) {
      throw untrusted(
        what,
        `the ${field} of ${entry.name} in the catalog differs from the signed definition ${release.definition}`,
      );
    }
  }
  if (entry.locked !== undefined) {
    const signed = await readSignedVersion(context, release, entry.name);
    const difference = lockedRuntimeDifference(entry.locked, signed?.runtime ?? {}, { anyPlace: true });
    if (difference !== undefined) {
      const reason = `the lock file does not match the signed definition ${release.definition}`;
      throw untrusted(what, `${reason}: ${difference}`);
    }
  }
  const { signer, cosigners } = judgement;
  const signedBy = `${[signer, ...cosigners].map(describeSigner).join(' and ')} (policy ${judgement.policy})`;
  return { signedBy, ...defined({ builtFrom: builtFrom({ state: 'verified', signer }) }) };
}

/** Reads every signature of a release, also invalid ones. Offline, those that were read last. */
async function readBundles(
  { cache, fetcher }: JudgeContext,
  release: RegistryRelease,
): Promise<Uint8Array[]> {
  const { digests, record } = fetcher.isOffline
    ? { digests: await knownBundles(fetcher, release), record: undefined }
    : await listBundles(fetcher, release);
  const found: Uint8Array[] = [];
  for (const digest of digests) {
    const known = await cache.readBlob(digest, DOCUMENT_LIMITS.maxSourceBytes);
    if (known !== undefined) {
      found.push(known);
      continue;
    }
    const url = release.registry + fillPath('bundle', { ...release, digest });
    const { bytes } = await fetcher.fetchBytes({
      address: { type: 'http', url },
      maxBytes: DOCUMENT_LIMITS.maxSourceBytes,
    });
    // Other bytes are a bundle as good as any: only its signature counts. But they are not stored under this digest.
    found.push(bytes);
  }
  // Only of those that are in the cache.
  await record?.();
  return found;
}

/** Returns the digests of the signatures of a release, and what records them for a run without the network. */
async function listBundles(
  fetcher: DocumentFetcher,
  release: RegistryRelease,
): Promise<{ digests: Digest[]; record: () => Promise<void> }> {
  const { bytes, store } = await fetcher.fetchBytes({
    address: bundlesAddress(release),
    maxBytes: RESOLVE_LIMITS.maxListBytes,
  });
  const { bundles } = parseObject(bytes);
  if (!Array.isArray(bundles)) throw untrusted(formatRelease(release), 'its registry lists no signatures');
  const digests = bundles.slice(0, RESOLVE_LIMITS.maxBundles).flatMap((one: unknown) => {
    const { digest } = (one ?? {}) as { digest?: unknown };
    return typeof digest === 'string' && isDigest(digest) ? [digest] : [];
  });
  const record = async () => {
    await store.writer.write((to) => to.writeRecord('evidence', evidenceName(release), { bundles: digests }));
  };
  return { digests, record };
}

async function knownBundles(fetcher: DocumentFetcher, release: RegistryRelease): Promise<Digest[]> {
  for (const cache of await fetcher.caches(bundlesAddress(release))) {
    const { bundles } = (await cache.readRecord('evidence', evidenceName(release), { ofAnyone: true })) ?? {};
    if (Array.isArray(bundles)) return bundles.filter((one): one is Digest => isDigest(String(one)));
  }
  throw untrusted(formatRelease(release), 'its signatures are not in the cache, and --offline is set');
}

function bundlesAddress(release: RegistryRelease): { type: 'http'; url: string } {
  return { type: 'http', url: release.registry + fillPath('bundles', release) };
}

function evidenceName(release: RegistryRelease): string {
  return `${release.registry} ${formatRelease(release)} ${release.definition}`;
}

/** Reads an API version of a release; undefined if it has no such version. Throws `untrusted` for other bytes. */
export async function readSignedVersion(
  context: JudgeContext,
  release: RegistryRelease,
  name: string,
): Promise<FunctionVersion | undefined> {
  const { versions } = await readRelease(context, release);
  return versions.find((version) => version.name === name);
}

/** Reads the definition of a release by its digest. Throws `untrusted` for other bytes. */
export async function readRelease(
  { cache, fetcher }: JudgeContext,
  release: RegistryRelease,
): Promise<FunctionDefinition> {
  const url = release.registry + fillPath('definition', release);
  const maxBytes = DOCUMENT_LIMITS.maxDefinitionBytes;
  const bytes =
    (await cache.readBlob(release.definition, maxBytes)) ??
    (await fetcher.fetchBytes({ address: { type: 'http', url }, maxBytes })).bytes;
  if (sha256(bytes) !== release.definition) {
    throw untrusted(
      formatRelease(release),
      `got the definition ${sha256(bytes)}, expected ${release.definition}`,
    );
  }
  const entry = readPublishedDefinition(bytes);
  if ('problem' in entry) {
    throw untrusted(formatRelease(release), `cannot read its definition: ${entry.problem}`);
  }
  return entry.definition;
}

function parseObject(bytes: Uint8Array): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function untrusted(what: string, reason: string): KrmhubError {
  return new KrmhubError('untrusted', `${what} is not trusted: ${reason}`, { hint: HINT });
}
