import { z } from '@hono/zod-openapi';
import { Diagnostic, DigestText, Time } from './base-model.js';

/** Who signed what, and who says whom to trust. */

export const Verdict = z
  .object({
    trusted: z.boolean(),
    signer: z.string().optional().openapi({ example: 'the key sha256:…' }),
    policy: z
      .string()
      .optional()
      .openapi({ description: 'The policy that names the signer, or wants another' }),
    reason: z.string().optional().openapi({ description: 'Why it is not trusted' }),
  })
  .openapi('Verdict', {
    description:
      'Whom the policies of this registry trust a release for, as they are now; or why they do not',
  });

export const Bundle = z
  .object({
    digest: DigestText.openapi({ description: 'Digest of the bytes of the bundle' }),
    size: z.number().int().openapi({ description: 'Bytes' }),
    manifest: z.string().openapi({ description: 'Digest of the manifest that holds it in the repository' }),
    claim: z.enum(['signature', 'attestation']),
    predicateType: z.string(),
    signer: z
      .string()
      .optional()
      .openapi({ description: 'Who signed it; absent where the registry does not know the key' }),
    signedAt: Time.optional().openapi({ description: 'By a log or a timestamp authority' }),
    receivedAt: Time,
    receivedBy: z.string(),
  })
  .openapi('Bundle', { description: 'A sigstore bundle that speaks of a release' });

export const BundleList = z
  .object({ bundles: z.array(Bundle), signature: Verdict })
  .openapi('BundleList', { description: 'As they came' });

const PolicySigner = z.object({
  key: z.string().optional().openapi({ description: 'PEM' }),
  fingerprint: DigestText.optional(),
  issuer: z.string().optional(),
  subject: z.string().optional(),
  subjectPattern: z.string().optional(),
  validFrom: Time.optional(),
  validUntil: Time.optional(),
  revoked: z.string().optional(),
});

export const PolicySet = z
  .object({
    text: z.string().openapi({ description: 'As they were applied: YAML, a SigningPolicy to a document' }),
    appliedAt: Time.optional(),
    appliedBy: z.string().optional(),
    policies: z.array(
      z.object({
        name: z.string(),
        groups: z.array(z.string()),
        releases: z.string().optional(),
        signers: z.array(PolicySigner),
      }),
    ),
  })
  .openapi('PolicySet', { description: 'The signing policies; without a time where none were ever applied' });

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
          'The first releases that are trusted now and were not, or the other way round, or of which a policy asks what none did before',
      }),
    changed: z.number().int().openapi({ description: 'How many there are of them' }),
    coverage: z
      .array(z.object({ name: z.string(), functions: z.number().int() }))
      .openapi({ description: 'How many functions of this registry each policy covers a release of' }),
  })
  .openapi('PolicyResult');

export type Verdict = z.infer<typeof Verdict>;
export type Bundle = z.infer<typeof Bundle>;
export type BundleList = z.infer<typeof BundleList>;
export type PolicySet = z.infer<typeof PolicySet>;
export type PolicyResult = z.infer<typeof PolicyResult>;
