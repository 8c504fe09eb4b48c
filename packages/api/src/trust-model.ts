import { z } from '@hono/zod-openapi';
import { ATTESTATION_TYPES, type AttestationType } from '@krmhub/schema/documents/attestation';
import { SOURCE_REQUIREMENTS, type SourceField } from '@krmhub/schema/documents/signer';
import { Diagnostic, DigestText, exactOptional, SourceIdentity, Time } from './base-model.js';

/** Signatures, verdicts and signing policies. */

export const Verdict = z
  .object({
    trusted: z.boolean().openapi({ description: 'Whether the state is `verified`' }),
    state: z.enum(['verified', 'not-trusted', 'signed', 'not-checked', 'unsigned']).openapi({
      description:
        '`verified`: a policy trusts the signer. `not-trusted`: a policy requires another signer, or revokes this ' +
        'one. `signed`: valid, but no policy covers the release. `not-checked`: the registry could not identify the key. ' +
        '`unsigned`: no signature',
    }),
    text: z.string().openapi({
      description: 'The verdict in one line, as web pages and `krmhub show` print it',
      example: 'verified as the key sha256:… by the registry policy team',
    }),
    signer: z.string().optional().openapi({ example: 'the key sha256:…' }),
    policy: z
      .string()
      .optional()
      .openapi({ description: 'The policy that trusts the signer, or that requires another one' }),
    reason: z.string().optional().openapi({ description: 'Why the release is not trusted' }),
    readmeSigned: z.boolean().optional().openapi({
      description:
        'Whether the signature also covers the README. Absent in search results, and if the release has no README',
    }),
  })
  .openapi('Verdict', {
    description: 'Whether the current signing policies of this registry trust a release, and why',
  });

export const Bundle = z
  .object({
    digest: DigestText.openapi({ description: 'Digest of the bytes of the bundle' }),
    size: z.number().int().openapi({ description: 'Bytes' }),
    manifest: z
      .string()
      .openapi({ description: 'Digest of the manifest that contains it in the repository' }),
    claim: z.enum(['signature', 'attestation']),
    whole: z.boolean().openapi({
      description:
        'Whether it covers the manifest of the release, including the README. Otherwise, it covers only the definition',
    }),
    predicateType: z.string(),
    signer: z
      .string()
      .optional()
      .openapi({ description: 'The signer. Absent if the registry does not know the key' }),
    source: exactOptional(SourceIdentity),
    signedAt: Time.optional().openapi({
      description: 'Time from a transparency log or a timestamp authority',
    }),
    receivedAt: Time,
    receivedBy: z.string(),
  })
  .openapi('Bundle', { description: 'A sigstore bundle for a release' });

export const TestReport = z
  .object({
    result: z.enum(['passed', 'warned', 'failed']).optional().openapi({
      description: 'What the signer reports. Absent if the state is `not-trusted`',
    }),
    passed: z.number().int().optional().openapi({ description: 'Number of tests; absent like the result' }),
    warned: z.number().int().optional(),
    failed: z.number().int().optional(),
    failedTests: z.array(z.string()).optional().openapi({ description: 'Names of the first failed tests' }),
    text: z.string().openapi({
      description: 'The report in one line, as web pages and `krmhub show` print it',
      example:
        'passed: 14 tests, reported by the key sha256:… on 2030-01-02, verified by the registry policy team',
    }),
    trusted: z.boolean().openapi({ description: 'Whether the state is `verified`' }),
    state: z.enum(['verified', 'not-trusted', 'signed']).openapi({
      description:
        '`verified`: a policy trusts the signer. `not-trusted`: a policy requires another signer, or revokes this ' +
        'one. `signed`: valid, but no policy covers the release',
    }),
    signer: z.string().openapi({ example: 'the key sha256:…' }),
    policy: z
      .string()
      .optional()
      .openapi({ description: 'The policy that trusts the signer, or that requires another one' }),
    reason: z.string().optional().openapi({ description: 'Why the signer is not trusted' }),
    reportedAt: Time.openapi({
      description:
        'When it was signed, if a log or a timestamp authority provides it. Otherwise, when the tests ended',
    }),
    bundle: DigestText.openapi({ description: 'Digest of the bytes of the bundle' }),
  })
  .openapi('TestReport', {
    description: 'The newest attestation of a signer that tests of the release passed or failed',
  });

export const BundleList = z
  .object({ bundles: z.array(Bundle), signature: Verdict })
  .openapi('BundleList', { description: 'In the order in which they were received' });

const sourceRequirements = Object.fromEntries(
  Object.entries(SOURCE_REQUIREMENTS).map(([field, { meaning, example }]) => [
    field,
    exactOptional(z.string().openapi({ description: meaning, example })),
  ]),
) as Record<SourceField, z.ZodExactOptional<z.ZodString>>;

const PolicySigner = z.object({
  key: z.string().optional().openapi({ description: 'PEM' }),
  fingerprint: DigestText.optional(),
  issuer: z.string().optional(),
  subject: z.string().optional(),
  subjectPattern: z.string().optional(),
  ...sourceRequirements,
  validFrom: Time.optional(),
  validUntil: Time.optional(),
  revoked: z.string().optional(),
});

export const PolicySet = z
  .object({
    text: z
      .string()
      .optional()
      .openapi({
        description:
          'The exact YAML text, one SigningPolicy per document. In a registry that hides something, only for ' +
          'administrators',
      }),
    appliedAt: Time.optional(),
    appliedBy: z.string().optional(),
    policies: z.array(
      z.object({
        name: z.string(),
        groups: z.array(z.string()),
        releases: z.string().optional(),
        signers: z.array(PolicySigner),
        atLeast: exactOptional(
          z.number().int().openapi({ description: 'How many signers must sign. Absent for one' }),
        ),
        requireAll: exactOptional(
          z.literal(true).openapi({ description: 'Every signer that is not revoked must sign' }),
        ),
        attestations: exactOptional(
          z
            .array(
              z.object({
                type: z.enum(Object.keys(ATTESTATION_TYPES) as [AttestationType, ...AttestationType[]]),
                builder: exactOptional(z.string()),
                repository: exactOptional(z.string()),
                signers: exactOptional(z.array(PolicySigner)),
              }),
            )
            .openapi({ description: 'Attestations that a release must have, all of them' }),
        ),
        testers: z.array(PolicySigner).optional().openapi({ description: 'Signers of test reports only' }),
      }),
    ),
  })
  .openapi('PolicySet', {
    description:
      'The signing policies, with the groups that the client may read. `appliedAt` is absent if none were ever ' +
      'applied, or without `text`',
  });

export const PolicyResult = z
  .object({
    outcome: z.enum(['changed', 'unchanged']),
    dryRun: z.boolean(),
    policies: z.number().int(),
    diagnostics: z.array(Diagnostic),
    changes: z
      .array(
        z.object({
          group: z.string(),
          kind: z.string(),
          release: z.string(),
          before: Verdict,
          after: Verdict,
        }),
      )
      .openapi({
        description:
          'The first releases with a new verdict, and releases that a policy covers for the first time',
      }),
    changed: z.number().int().openapi({ description: 'Number of such releases' }),
    coverage: z
      .array(z.object({ name: z.string(), functions: z.number().int() }))
      .openapi({ description: 'Number of functions of this registry with a release that the policy covers' }),
  })
  .openapi('PolicyResult');

export type Verdict = z.infer<typeof Verdict>;
export type Bundle = z.infer<typeof Bundle>;
export type TestReport = z.infer<typeof TestReport>;
export type BundleList = z.infer<typeof BundleList>;
export type PolicySet = z.infer<typeof PolicySet>;
export type PolicyResult = z.infer<typeof PolicyResult>;
