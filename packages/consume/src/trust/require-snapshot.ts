import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls } from '@krmhub/schema/text';
import type { Clock, Environment, SnapshotRules, TrustPorts, Warnings } from '../ports.js';
import {
  CHANGED,
  type ExpectedSnapshot,
  judgeSnapshot,
  type SignedSnapshot,
  type SnapshotVerdict,
} from './judge-snapshot.js';
import type { CatalogPin } from './pinned-catalogs.js';
import { rememberSnapshot, seenCatalogs, seenCatalogsFile, seenKey } from './seen-catalogs.js';

/** What every command says about a catalog that no pinned key covers. */
export const NOT_PINNED = 'no key is pinned for this catalog';

/** A snapshot that a pinned key signed. */
export interface PinnedSnapshot {
  catalog: string;
  serial: number;
  /** Fingerprint. */
  key: string;
}

/**
 * Returns the snapshot that one of the bundles signs and that passes every check. Throws `untrusted` with the reason of
 * the bundle that passed most checks. `problemOf` returns why the signed digests do not cover what was read.
 */
export async function requireSnapshot(
  io: Clock & Environment & SnapshotRules,
  pin: CatalogPin,
  expected: ExpectedSnapshot,
  bundles: readonly Uint8Array[],
  problemOf: (signed: SignedSnapshot) => string | undefined = () => undefined,
): Promise<SignedSnapshot> {
  const input = {
    expected,
    keys: pin.keys,
    limits: io.snapshotLimits,
    pinned: pin.limits,
    now: io.now(),
    seen: await seenCatalogs(io),
    seenFile: seenCatalogsFile(io),
  };
  let best: SnapshotVerdict | undefined;
  for (const bundle of bundles) {
    const verdict = judgeSnapshot(bundle, input);
    const problem = verdict.signed === undefined ? undefined : problemOf(verdict.signed);
    if (verdict.signed !== undefined && problem === undefined) return verdict.signed;
    const refused: SnapshotVerdict =
      problem === undefined
        ? verdict
        : { checks: [...verdict.checks], refusal: { message: problem, hint: CHANGED } };
    if (best === undefined || refused.checks.length >= best.checks.length) best = refused;
  }
  const { message, hint } = best?.refusal ?? {
    message: 'it has no signature',
    hint: 'Nothing was written. Ask the operator of the registry why the catalog is not signed.',
  };
  throw untrustedCatalog(expected.url, message, hint);
}

/** Records a snapshot as the newest one of its catalog, and prints of which catalog it is and who signed it. */
export async function acceptSnapshot(
  io: TrustPorts,
  url: string,
  pin: CatalogPin,
  signed: SignedSnapshot,
): Promise<PinnedSnapshot> {
  const accepted = await recordSnapshot(io, url, signed);
  const { catalog, serial, key } = accepted;
  await io.report(
    escapeControls(`verified snapshot ${serial} of ${url} as catalog ${catalog}: signed by the key ${key}`),
  );
  if (pin.name === undefined) await warnUnnamed(io, pin.entry, catalog);
  return accepted;
}

/** Records a snapshot as the newest one of its catalog, and prints only what is wrong with the pin. */
export async function acceptQuietly(
  ...[io, url, pin, signed]: Parameters<typeof acceptSnapshot>
): Promise<PinnedSnapshot> {
  const accepted = await recordSnapshot(io, url, signed);
  if (pin.name === undefined) await warnUnnamed(io, pin.entry, accepted.catalog);
  return accepted;
}

async function recordSnapshot(
  io: Clock & Environment,
  url: string,
  { claim: { catalog, serial }, digests, signer: { fingerprint } }: SignedSnapshot,
): Promise<PinnedSnapshot> {
  // Every signed snapshot names its snapshot.json; without it, a later fork of this serial could not be noticed.
  const digest = digests.get('snapshot.json');
  if (digest === undefined)
    throw untrustedCatalog(url, 'its signature does not cover snapshot.json', CHANGED);
  await rememberSnapshot(io, seenKey(fingerprint, catalog), { serial, digest });
  return { catalog, serial, key: fingerprint };
}

/** Warns that a pin accepts every catalog that its key signs, because neither the entry nor its URL names one. */
async function warnUnnamed(io: Warnings, entry: string, catalog: string): Promise<void> {
  await io.warn(
    escapeControls(
      `${entry} accepts every catalog that its key signs; to accept only ${catalog}, add \`catalog: ${catalog}\` to this entry of the trust file`,
    ),
  );
}

/** Says that a catalog, which was read, is not verified. `address` is the URL to pin. */
export async function reportNotPinned(io: Warnings, name: string, address: string): Promise<void> {
  await io.report(
    escapeControls(`${name} is not verified: ${NOT_PINNED}; to pin one, run: ${pinCommand(address)}`),
  );
}

/**
 * Throws `untrusted` for a catalog without a pin if the user asked for what only a signature can show. `address` is the
 * URL to pin, if there is one.
 */
export function requireNoLimits({ snapshotLimits }: SnapshotRules, name: string, address?: string): void {
  if (snapshotLimits === undefined) return;
  const option = snapshotLimits.minSerial === undefined ? '--max-age' : '--min-serial';
  const pin =
    address === undefined
      ? 'Use a copy with its signature: krmhub catalog verify URL --out FOLDER.'
      : `Pin the key of its registry: ${pinCommand(address)}.`;
  const hint = escapeControls(
    `${pin} To limit only some catalogs, set \`minSerial\` or \`maxAge\` in the trust file.`,
  );
  throw untrustedCatalog(name, `${NOT_PINNED}, and ${option} is set`, hint);
}

function pinCommand(address: string): string {
  return `krmhub trust add ${address} --key FILE.pub`;
}

export function untrustedCatalog(name: string, reason: string, hint: string): KrmhubError {
  return new KrmhubError('untrusted', escapeControls(`${name} is not trusted: ${reason}`), { hint });
}
