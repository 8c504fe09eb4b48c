import {
  describeConditions,
  describeTrusted,
  formatDuration,
  isCatalogTrust,
  isTrustedCatalog,
  type PinnedKey,
  type TrustEntry,
  type TrustedCatalog,
  type TrustedSigner,
} from '@krmhub/catalog';

/** Describes an entry, one line per fact. Equal entries have equal lines. */
export function entryLines(entry: TrustEntry): string[] {
  if (isTrustedCatalog(entry)) {
    const { url, catalog, keys } = entry;
    return [
      `catalog ${url}`,
      ...(catalog === undefined ? [] : [`signed as catalog ${catalog}`]),
      ...limitLines(entry),
      ...keys.map(signerLine),
    ];
  }
  if (isCatalogTrust(entry)) {
    const { official, catalogs } = entry;
    return [
      ...(official === undefined ? [] : [`official catalog ${official}`]),
      ...catalogs.map((reference) => `catalog ${reference} without a signature`),
    ];
  }
  const { groups, releases, signers, testers = [] } = entry;
  return [
    ...groups.map((group) => `group ${group}`),
    ...(releases === undefined ? [] : [`releases ${releases}`]),
    ...describeConditions(entry),
    ...signers.map(signerLine),
    ...testers.map((tester) => `${signerLine(tester)}, for test reports only`),
  ];
}

/** Describes which snapshots of a catalog are accepted. */
export function limitLines({ minSerial, maxAge }: TrustedCatalog): string[] {
  return [
    ...(minSerial === undefined ? [] : [`from snapshot ${minSerial}`]),
    ...(maxAge === undefined ? [] : [`signed within ${formatDuration(maxAge)}`]),
  ];
}

/** Returns the differences of two entries as lines of a diff. */
export function diffEntries(before: TrustEntry, after: TrustEntry): string[] {
  const [old, now] = [entryLines(before), entryLines(after)];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

function signerLine(signer: TrustedSigner | PinnedKey): string {
  const { validFrom, validUntil } = signer;
  const revoked = 'revoked' in signer ? signer.revoked : undefined;
  return [
    describeTrusted(signer),
    ...(validFrom === undefined ? [] : [`from ${validFrom}`]),
    ...(validUntil === undefined ? [] : [`until ${validUntil}`]),
    ...(revoked === undefined ? [] : [`revoked: ${revoked}`]),
  ].join(', ');
}
