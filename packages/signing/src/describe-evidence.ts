import { X509Certificate } from 'node:crypto';
import type { Bundle, TransparencyLogEntry } from '@sigstore/bundle';

/** The certificate of a bundle in words; undefined where a key signed. */
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
    // Node's reader of certificates and that of the library need not agree on what is damaged.
    return undefined;
  }
}

/** Where the entries of a bundle stand, in words. */
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
