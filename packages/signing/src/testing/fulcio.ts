import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { BUNDLE_MEDIA_TYPE, type SourceIdentity } from '@krmhub/schema';
import { SOURCE_EXTENSIONS } from '@krmhub/schema/documents/signer';
import { dsse } from '@sigstore/core';
import { initializeCA, initializeTSA } from '@sigstore/mock';
import { encodeStatement, IN_TOTO_MEDIA_TYPE, type Statement } from '../statement.js';
import { readTrustedRoot, type TrustedRoot } from '../trusted-root.js';

const ARC = '1.3.6.1.4.1.57264.1.';
const SHA2_256 = '2.16.840.1.101.3.4.2.1';

/** An extension: text as a DER UTF8String, or the bytes themselves. */
export type TestExtension = readonly [number: number, value: string | Uint8Array];

export interface TestIdentity {
  subject: string;
  issuer: string;
  source?: SourceIdentity;
  /** Other extensions, which may be wrong or repeated. */
  extensions?: readonly TestExtension[];
}

/** A certificate authority with a timestamp authority, and the root that trusts both. */
export class TestFulcio {
  private constructor(
    private readonly authority: Awaited<ReturnType<typeof initializeCA>>,
    private readonly clock: Awaited<ReturnType<typeof initializeTSA>>,
    readonly root: TrustedRoot,
    /** The root as JSON. */
    readonly rootText: string,
  ) {}

  static async start(): Promise<TestFulcio> {
    const pair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const now = new Date();
    const authority = await initializeCA(pair(), undefined, now);
    const clock = await initializeTSA(pair(), now);
    // Whole seconds, in which the certificates are valid. Both authorities read this object.
    now.setTime(Math.ceil(Date.now() / 1_000) * 1_000);
    const chain = (...certificates: ArrayBufferView[]) => ({
      subject: { organization: 'sigstore.mock', commonName: 'test' },
      uri: 'https://fulcio.example.com',
      certChain: { certificates: certificates.map((one) => ({ rawBytes: base64(one) })) },
      validFor: { start: new Date(now.getTime() - 60_000).toISOString() },
    });
    const root = JSON.stringify({
      mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
      tlogs: [],
      ctlogs: [],
      certificateAuthorities: [chain(authority.rootCertificate)],
      timestampAuthorities: [chain(clock.intCertificate, clock.rootCertificate)],
    });
    return new TestFulcio(authority, clock, readTrustedRoot(root, 'the test instance'), root);
  }

  /** Returns the JSON of a bundle that an identity signed. */
  async sign(statement: Statement, identity: TestIdentity): Promise<Uint8Array> {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { subject, issuer, source = {}, extensions = [] } = identity;
    const stated = Object.entries(source).map(
      ([name, text]): TestExtension => [SOURCE_EXTENSIONS[name as keyof SourceIdentity], text],
    );
    const certificate = await this.authority.issueCertificate({
      publicKey: publicKey.export({ type: 'spki', format: 'der' }) as Buffer<ArrayBuffer>,
      subjectAltName: subject,
      extensions: [[8, issuer] as const, ...stated, ...extensions].map(([number, value]) => ({
        oid: `${ARC}${number}`,
        // The bytes of the extension.
        value: value as string,
        legacy: typeof value !== 'string',
      })),
    });
    return this.#bundle(encodeStatement(statement), certificate, privateKey);
  }

  async #bundle(
    payload: Uint8Array,
    certificate: ArrayBufferView,
    privateKey: KeyObject,
  ): Promise<Uint8Array> {
    const encoded = dsse.preAuthEncoding(IN_TOTO_MEDIA_TYPE, Buffer.from(payload));
    const signature = sign('sha256', encoded, privateKey);
    const timestamp = await this.clock.timestamp({
      artifactHash: createHash('sha256').update(signature).digest(),
      hashAlgorithmOID: SHA2_256,
      policyOID: '1.3.6.1.4.1.57264.2',
      nonce: 1,
      certReq: true,
    });
    const bundle = {
      mediaType: BUNDLE_MEDIA_TYPE,
      verificationMaterial: {
        certificate: { rawBytes: base64(certificate) },
        timestampVerificationData: { rfc3161Timestamps: [{ signedTimestamp: base64(timestamp) }] },
      },
      dsseEnvelope: {
        payload: Buffer.from(payload).toString('base64'),
        payloadType: IN_TOTO_MEDIA_TYPE,
        signatures: [{ sig: signature.toString('base64') }],
      },
    };
    return new TextEncoder().encode(JSON.stringify(bundle));
  }
}

const base64 = (view: ArrayBufferView): string =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64');
