import { z } from '@hono/zod-openapi';
import { type Digest, SEVERITIES } from '@krmhub/schema';
import { SOURCE_EXTENSIONS, type SourceIdentity as Source } from '@krmhub/schema/documents/signer';

/** Schemas that other models are made of. Times are RFC 3339 in UTC. */

export const Time = z.iso.datetime().openapi({ example: '2030-01-02T03:04:05.678Z' });
export const DigestText = z.string().regex(/^sha256:[a-f0-9]{64}$/) as z.ZodType<string> as z.ZodType<Digest>;

/** A field that may be absent, but is never `undefined`. The OpenAPI generator supports `.optional()` only. */
export function exactOptional<Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return schema.optional() as unknown as z.ZodExactOptional<Schema>;
}

/** When, by whom and why a release was yanked or deprecated. */
export const LifecycleChange = z.object({ at: Time, by: z.string(), reason: z.string() });

/** What to use instead of a deprecated release. */
export const Replacement = z
  .object({
    group: z.string(),
    kind: z.string(),
    releases: exactOptional(
      z.string().openapi({ example: '^2.0.0', description: 'SemVer range. Absent for any release' }),
    ),
  })
  .openapi('Replacement', { description: 'What to use instead of a deprecated release' });

export const Deprecation = LifecycleChange.extend({ replacement: exactOptional(Replacement) });

export const Diagnostic = z
  .object({
    code: z.string().openapi({ example: 'image/floating-tag' }),
    severity: z.enum(SEVERITIES),
    message: z.string(),
    file: z.string(),
    path: z.string().openapi({ example: 'spec.versions[0].runtime.container.image' }),
    range: z
      .object({
        start: z.object({ line: z.number().int(), column: z.number().int() }),
        end: z.object({ line: z.number().int(), column: z.number().int() }),
      })
      .optional(),
    hint: z.string().optional(),
  })
  .openapi('Diagnostic');

const sourceFields = Object.fromEntries(
  Object.keys(SOURCE_EXTENSIONS).map((name) => [name, exactOptional(z.string())]),
) as Record<keyof Source, z.ZodExactOptional<z.ZodString>>;

export const SourceIdentity = z.object(sourceFields).openapi('SourceIdentity', {
  description:
    'What the certificate of a verified signature states about the build, by the names of Fulcio: text of the CI provider',
});

export const TakenDownSigner = z
  .object({
    type: z.enum(['key', 'identity', 'unidentified']).openapi({
      description: '`unidentified`: a key that the registry did not know',
    }),
    fingerprint: DigestText.optional().openapi({ description: 'For a key' }),
    issuer: z.string().optional().openapi({ description: 'For an identity' }),
    subject: z.string().optional().openapi({ description: 'For an identity' }),
  })
  .openapi('TakenDownSigner', { description: 'Who signed a release that was taken down' });

export const Takedown = z
  .object({
    group: z.string(),
    kind: z.string(),
    release: z.string(),
    digest: DigestText.openapi({ description: 'Digest of the exact bytes of the removed definition' }),
    at: Time,
    by: z.string(),
    reason: z.string(),
    signers: z.array(TakenDownSigner).optional().openapi({
      description:
        'Who signed it. If no signing policy covers the function, its later releases need a signer of an earlier one',
    }),
    scripts: z.array(DigestText).optional().openapi({
      description: 'Digests of its Starlark scripts that were deleted with it: of their manifests and files',
    }),
  })
  .openapi('Takedown', { description: 'Tombstone of a release that was taken down' });

export type Diagnostic = z.infer<typeof Diagnostic>;
export type Takedown = z.infer<typeof Takedown>;
