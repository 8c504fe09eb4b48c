import { sign } from 'node:crypto';
import { expect, it } from 'vitest';
import { LEGACY_LAYER, verifyLegacySignature } from './legacy-signature.js';
import { testKey } from './testing/bundles.js';
import { emptyRoot } from './trusted-root.js';
import type { Trust } from './verify.js';

const key = testKey();
const trust: Trust = { keys: [key.publicKey], root: emptyRoot() };
const manifest = `sha256:${'a'.repeat(64)}`;
const NAME = 'dev.cosignproject.cosign/signature';
const EVIDENCE = 'dev.sigstore.cosign';

function createPayload(digest: string, type = 'cosign container image signature'): string {
  const image = { 'docker-manifest-digest': digest };
  return JSON.stringify({ critical: { identity: { 'docker-reference': 'x' }, image, type }, optional: null });
}

function signed(text: string, annotations: Record<string, string> = {}) {
  const payload = new TextEncoder().encode(text);
  const signature = sign('sha256', payload, key.privateKey).toString('base64');
  return { payload, annotations: { [NAME]: signature, ...annotations } };
}

function refusal(signature: ReturnType<typeof signed>, by = trust): string {
  const { verified, checks } = verifyLegacySignature(signature, manifest, by);
  expect(verified).toBe(false);
  const { check, message } = checks.at(-1)!;
  return `${check}: ${message}`;
}

it('is valid for its image and key', () => {
  const { verified, checks, signer, statement } = verifyLegacySignature(
    signed(createPayload(manifest)),
    manifest,
    trust,
  );
  expect([verified, statement]).toEqual([true, undefined]);
  expect(signer).toEqual({ type: 'key', fingerprint: key.publicKey.fingerprint });
  expect(checks.slice(0, 2)).toEqual([
    { check: 'bundle', passed: true, message: LEGACY_LAYER },
    { check: 'subject', passed: true, message: manifest },
  ]);
});

it('is rejected for another key, image or payload', () => {
  const good = signed(createPayload(manifest));
  expect(refusal(good, { ...trust, keys: [testKey().publicKey] })).toMatch(/^signature: /);
  expect(refusal(signed(createPayload(`sha256:${'b'.repeat(64)}`)))).toMatch(
    /^subject: the signature is for sha256:bbb/,
  );
  expect(refusal(signed(createPayload(manifest, 'something else')))).toMatch(/^subject: /);
  expect(refusal(signed('hello'))).toMatch(/^subject: /);
  expect(refusal(signed('null'))).toMatch(/^subject: /);
  const moved = { ...signed('{}'), payload: good.payload };
  expect(refusal(moved)).toMatch(/^signature: /);
});

it.for([
  ['no signature', { [NAME]: '' }, 'it has no signature'],
  ['a signature that is none', { [NAME]: '…' }, ''],
  ['a damaged certificate', { [`${EVIDENCE}/certificate`]: 'hello' }, 'its certificate is invalid'],
  ['damaged evidence of a log', { [`${EVIDENCE}/bundle`]: '{' }, 'with evidence is invalid'],
  ['empty evidence of a log', { [`${EVIDENCE}/bundle`]: '{}' }, 'with evidence is invalid'],
  ['a damaged timestamp', { [`${EVIDENCE}/rfc3161timestamp`]: 'null' }, 'with evidence is invalid'],
] as const)('is rejected: %s', ([, annotations, reason]) => {
  const text = refusal(signed(createPayload(manifest), annotations));
  expect(text).toMatch(/^(bundle|signature): /);
  expect(text).toContain(reason);
});

it('is rejected with an untrusted log entry', () => {
  const body = Buffer.from(JSON.stringify({ kind: 'hashedrekord', apiVersion: '0.0.1' })).toString('base64');
  const logged = (Payload: object) =>
    signed(createPayload(manifest), {
      [`${EVIDENCE}/bundle`]: JSON.stringify({ SignedEntryTimestamp: 'AAAA', Payload }),
    });
  const entry = { body, integratedTime: 1_700_000_000, logIndex: 7, logID: 'a'.repeat(64) };
  expect(refusal(logged(entry))).toMatch(/^log: /);
  expect(refusal(logged({ ...entry, body: 'AAAA' }))).toBe('bundle: its log entry is invalid');
  expect(refusal(logged({ ...entry, integratedTime: 8e15, logIndex: -1 }))).toMatch(/^bundle: /);
});
