import {
  describeSigner,
  isTrustedCatalog,
  type PinnedKey,
  type TrustEntry,
  type TrustedSigner,
} from '@krmhub/catalog';

/** What an entry says, a line each; two entries that say the same have the same lines. */
export function linesOf(entry: TrustEntry): string[] {
  if (isTrustedCatalog(entry)) return [`catalog ${entry.url}`, ...entry.keys.map(signerLine)];
  const { groups, releases, signers } = entry;
  return [
    ...groups.map((group) => `group ${group}`),
    ...(releases === undefined ? [] : [`releases ${releases}`]),
    ...signers.map(signerLine),
  ];
}

/** What changes from one entry to the other, as lines of a diff. */
export function changesBetween(before: TrustEntry, after: TrustEntry): string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `- ${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`),
  ];
}

export function whomOf(signer: TrustedSigner | PinnedKey): string {
  if ('fingerprint' in signer) return describeSigner({ type: 'key', fingerprint: signer.fingerprint });
  const subject = 'subject' in signer ? signer.subject : signer.subjectPattern;
  return describeSigner({ type: 'identity', issuer: signer.issuer, subject });
}

function signerLine(signer: TrustedSigner | PinnedKey): string {
  const { validFrom, validUntil } = signer;
  const revoked = 'revoked' in signer ? signer.revoked : undefined;
  return [
    whomOf(signer),
    ...(validFrom === undefined ? [] : [`from ${validFrom}`]),
    ...(validUntil === undefined ? [] : [`until ${validUntil}`]),
    ...(revoked === undefined ? [] : [`revoked: ${revoked}`]),
  ].join(', ');
}
