import { createHash } from 'node:crypto';

/**
 * The two documents that describe a sigstore instance: the trusted root for verifiers, and the signing
 * configuration.
 */

/** The services of one sigstore: keys and certificates as base64 of DER. */
export interface Anchors {
  url: string;
  /** With its path, as cosign requires. */
  timestampUrl: string;
  start: string;
  certificateAuthority: string;
  certificateLog: string;
  transparencyLog: string;
  /** The certificate that signs, then its root. */
  timestampAuthority: string[];
}

export function trustedRootOf(anchors: Anchors): string {
  const { url, timestampUrl, start } = anchors;
  const validFor = { start };
  const log = (key: string) => ({
    baseUrl: url,
    hashAlgorithm: 'SHA2_256',
    publicKey: { rawBytes: key, keyDetails: 'PKIX_ECDSA_P256_SHA_256', validFor },
    logId: { keyId: createHash('sha256').update(Buffer.from(key, 'base64')).digest('base64') },
  });
  const authority = (uri: string, commonName: string, certificates: string[]) => ({
    subject: { organization: 'sigstore.mock', commonName },
    uri,
    certChain: { certificates: certificates.map((rawBytes) => ({ rawBytes })) },
    validFor,
  });
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [log(anchors.transparencyLog)],
    certificateAuthorities: [authority(url, 'sigstore', [anchors.certificateAuthority])],
    ctlogs: [log(anchors.certificateLog)],
    timestampAuthorities: [authority(timestampUrl, 'tsa signing', anchors.timestampAuthority)],
  });
}

export function signingConfigOf({ url, timestampUrl, start }: Anchors): string {
  const service = (address: string) => [
    { url: address, majorApiVersion: 1, validFor: { start }, operator: 'sigstore.mock' },
  ];
  return JSON.stringify({
    mediaType: 'application/vnd.dev.sigstore.signingconfig.v0.2+json',
    caUrls: service(url),
    oidcUrls: service(url),
    rekorTlogUrls: service(url),
    tsaUrls: service(timestampUrl),
    rekorTlogConfig: { selector: 'ANY' },
    tsaConfig: { selector: 'ANY' },
  });
}
