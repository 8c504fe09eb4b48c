import { createHash, generateKeyPairSync, sign, verify } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ASN1Obj } from '@sigstore/core';
import {
  fulcioHandler,
  initializeCA,
  initializeCTLog,
  initializeTLog,
  initializeTSA,
  rekorHandler,
  tsaHandler,
} from '@sigstore/mock';
import { type Anchors, signingConfigOf, trustedRootOf } from './sigstore-documents.js';

/** A local sigstore on the loopback interface: signing without a key and without public services. */
export interface Sigstore {
  url: string;
  /**
   * The three are base URLs, as `@sigstore/sign` requires; the signing configuration has paths where cosign
   * requires them.
   */
  fulcioUrl: string;
  rekorUrl: string;
  timestampUrl: string;
  /** JSON of a TrustedRoot whose anchors are these services. */
  trustedRoot: string;
  /** JSON of a SigningConfig, for `cosign --signing-config`. */
  signingConfig: string;
  token(identity: Identity): string;
  close(): Promise<void>;
}

export interface Identity {
  /** The name in the certificate: an address or a URI. */
  subject: string;
  issuer: string;
  /** Further claims as in GitHub's tokens: `repository`, `ref`, `sha`, ... */
  claims?: Record<string, string>;
}

interface Answer {
  status: number;
  body: string | Uint8Array;
  headers: Record<string, string>;
}

type Service = (request: IncomingMessage) => Promise<Answer>;

const TIMESTAMP_PATH = '/api/v1/timestamp';
const TIMESTAMP_POLICY = '1.3.6.1.4.1.57264.2';

export async function startSigstore(): Promise<Sigstore> {
  const services = new Map<string, Service>();
  const server = createServer((request, response) => {
    const service = services.get(`${request.method} ${request.url}`) ?? notFound;
    service(request)
      .catch((error: unknown) => refusal(400, error instanceof Error ? error.message : String(error)))
      .then((answer) => send(response, answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const curve = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const transparencyLog = await initializeTLog(url, curve());
  const certificateLog = await initializeCTLog(curve());
  const certificateAuthority = await initializeCA(curve(), certificateLog);
  // Fractions are written without trailing zeros, and @sigstore/core reads only those of three digits.
  const wholeSecond = new Date();
  const timestampAuthority = await initializeTSA(curve(), wholeSecond);
  const issuer = newTokenIssuer();

  const fulcio = fulcioHandler(certificateAuthority);
  services.set(`POST ${fulcio.path}`, async (request) => {
    const body = JSON.parse(await text(request));
    // cosign sends the token as a header, sigstore-js in the body; the mock reads only the body.
    const token =
      body.credentials?.oidcIdentityToken ?? request.headers.authorization?.replace(/^Bearer /, '');
    const subject = issuer.subjectOf(String(token));
    provesPossession(body.publicKeyRequest, subject);
    const answer = await fulcio.fn(JSON.stringify({ ...body, credentials: { oidcIdentityToken: token } }));
    // cosign treats only 200 as success.
    return answered({ ...answer, statusCode: answer.statusCode === 201 ? 200 : answer.statusCode });
  });

  const rekor = rekorHandler({
    publicKey: transparencyLog.publicKey,
    log: (proposed) => transparencyLog.log(canonicalEntry(proposed as ProposedEntry)),
    logV2: (proposed) => transparencyLog.logV2(proposed),
  });
  services.set(`POST ${rekor.path}`, async (request) => {
    const answer = answered(await rekor.fn(await text(request)));
    if (answer.status !== 201) return answer;
    const [id] = Object.keys(JSON.parse(String(answer.body)));
    // cosign finds the entry in the response by this header.
    return { ...answer, headers: { ...answer.headers, ETag: id!, Location: `${rekor.path}/${id}` } };
  });

  const timestamps = tsaHandler(timestampAuthority);
  services.set(`POST ${TIMESTAMP_PATH}`, async (request) => {
    wholeSecond.setTime(Math.floor(Date.now() / 1000) * 1000);
    if (request.headers['content-type'] !== 'application/timestamp-query')
      return answered(await timestamps.fn(await text(request)));
    const body = await timestampAuthority.timestamp(timestampRequest(await bytes(request)));
    return answered({ statusCode: 201, response: body, contentType: 'application/timestamp-reply' });
  });

  const anchors: Anchors = {
    url,
    timestampUrl: `${url}${TIMESTAMP_PATH}`,
    // Just before the keys were made: certificates and timestamps have whole seconds only.
    start: new Date(Date.now() - 60_000).toISOString(),
    certificateAuthority: base64(certificateAuthority.rootCertificate),
    certificateLog: base64(certificateLog.publicKey),
    transparencyLog: base64(transparencyLog.publicKey),
    timestampAuthority: [timestampAuthority.intCertificate, timestampAuthority.rootCertificate].map(base64),
  };
  return {
    url,
    fulcioUrl: url,
    rekorUrl: url,
    timestampUrl: url,
    trustedRoot: trustedRootOf(anchors),
    signingConfig: signingConfigOf(anchors),
    token: issuer.token,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** Makes tokens like an OIDC issuer, for any requested issuer, and recognizes its own. */
function newTokenIssuer() {
  // cosign accepts a token on its command line only if it is signed with RS256.
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    token({ subject, issuer, claims }: Identity): string {
      const now = Math.floor(Date.now() / 1000);
      const address = /^[^/:@]+@[^/:@]+$/.test(subject) ? { email: subject, email_verified: true } : {};
      const payload = { iss: issuer, sub: subject, aud: 'sigstore', iat: now, exp: now + 600, ...address };
      const signed = `${part({ alg: 'RS256', typ: 'JWT' })}.${part({ ...claims, ...payload })}`;
      return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    subjectOf(token: string): string {
      const [header, payload, signature] = token.split('.');
      const signed = Buffer.from(`${header}.${payload}`);
      if (!verify('sha256', signed, publicKey, Buffer.from(signature ?? '', 'base64url')))
        throw new Error('the identity token is not from this issuer');
      return JSON.parse(Buffer.from(payload!, 'base64url').toString()).sub;
    },
  };
}

function provesPossession(
  request: { publicKey: { content: string }; proofOfPossession: string },
  subject: string,
): void {
  const proof = Buffer.from(request.proofOfPossession, 'base64');
  if (!verify('sha256', Buffer.from(subject), request.publicKey.content, proof))
    throw new Error('the key does not verify the signature over the subject');
}

interface ProposedEntry {
  kind: string;
  spec: { proposedContent: { envelope: string; verifiers: string[] } };
}

/**
 * An entry as Rekor stores it; the mock stores envelopes as they were proposed, which no verifier accepts.
 */
function canonicalEntry(proposed: ProposedEntry): object {
  if (proposed.kind === 'hashedrekord') return proposed;
  if (proposed.kind !== 'dsse') throw new Error(`entries of kind ${proposed.kind} are not supported`);
  const { envelope, verifiers } = proposed.spec.proposedContent;
  const { payload, signatures } = JSON.parse(envelope) as { payload: string; signatures: { sig: string }[] };
  const digest = (value: string | Buffer) => ({
    algorithm: 'sha256',
    value: createHash('sha256').update(value).digest('hex'),
  });
  return {
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: {
      envelopeHash: digest(envelope),
      payloadHash: digest(Buffer.from(payload, 'base64')),
      signatures: signatures.map(({ sig }, index) => ({ signature: sig, verifier: verifiers[index] })),
    },
  };
}

/** A request of RFC 3161 in its own encoding, which the mock does not read. */
function timestampRequest(encoded: Buffer<ArrayBuffer>) {
  const [, imprint, ...options] = ASN1Obj.parseBuffer(encoded).subs;
  const [algorithm, hash] = imprint!.subs;
  return {
    artifactHash: hash!.value,
    hashAlgorithmOID: algorithm!.subs[0]!.toOID(),
    policyOID: options.find(({ tag }) => tag.isOID())?.toOID() ?? TIMESTAMP_POLICY,
    nonce: Number(options.find(({ tag }) => tag.isInteger())?.toInteger() ?? 0),
    certReq: options.find(({ tag }) => tag.isBoolean())?.toBoolean() ?? false,
  };
}

async function bytes(request: IncomingMessage): Promise<Buffer<ArrayBuffer>> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const base64 = (view: ArrayBufferView): string =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('base64');

function answered(answer: {
  statusCode: number;
  response: string | ArrayBufferView<ArrayBuffer>;
  contentType?: string;
}): Answer {
  const { statusCode, response, contentType = 'text/plain' } = answer;
  const body = typeof response === 'string' ? response : Buffer.from(base64(response), 'base64');
  return { status: statusCode, body, headers: { 'Content-Type': contentType } };
}

const refusal = (status: number, reason: string): Answer => ({
  status,
  body: JSON.stringify({ code: status, message: reason }),
  headers: { 'Content-Type': 'application/json' },
});

const notFound: Service = async ({ method, url }) => refusal(404, `not found: ${method} ${url}`);

function send(response: ServerResponse, { status, body, headers }: Answer): void {
  response.writeHead(status, headers).end(body);
}
