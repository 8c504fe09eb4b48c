import { X509Certificate } from 'node:crypto';
import type { Bundle, TransparencyLogEntry } from '@sigstore/bundle';

/** Describes the certificate of a bundle; undefined for a bundle that was signed with a key. */
export function describeCertificate({ verificationMaterial }: Bundle): string | undefined {
  const { content } = verificationMaterial;
  const bytes =
    content.$case === 'certificate'
      ? content.certificate.rawBytes
      : content.$case === 'x509CertificateChain'
        ? content.x509CertificateChain.certificates[0]?.rawBytes
        : undefined;
  if (bytes === undefined) return undefined;
  try {
    const { issuer, validFrom, validTo } = new X509Certificate(bytes);
    const name = /^CN=(.*)$/m.exec(issuer)?.[1] ?? issuer.replaceAll('\n', ', ');
    return `by ${name}, valid from ${utc(validFrom)} to ${utc(validTo)}`;
  } catch {
    // Node.js and the sigstore library may disagree about which certificates are valid.
    return undefined;
  }
}

/** Describes the log entries of a bundle. */
export function describeLogs(entries: readonly TransparencyLogEntry[]): string {
  return entries
    .map(({ logIndex, inclusionProof }) => {
      const log = inclusionProof?.checkpoint?.envelope.split('\n', 1)[0];
      return `entry ${logIndex}${log === undefined ? '' : ` of ${log}`}`;
    })
    .join(', ');
}

function utc(text: string): string {
  return new Date(text).toISOString();
}
