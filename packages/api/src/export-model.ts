import { z } from '@hono/zod-openapi';
import {
  Deprecation,
  DigestText,
  exactOptional,
  LifecycleChange,
  SourceIdentity,
  Time,
} from './base-model.js';
import { FunctionDefinition } from './document-model.js';

/** The exported inputs of catalog builds: with them, a mirror or the command line builds the same catalogs. */

export const ExportedSigner = z
  .object({
    type: z.enum(['key', 'identity']),
    fingerprint: DigestText.optional().openapi({ description: 'For a key' }),
    issuer: z.string().optional().openapi({ description: 'For an identity' }),
    subject: z.string().optional().openapi({ description: 'For an identity' }),
    source: exactOptional(SourceIdentity),
  })
  .openapi('ExportedSigner');

const ExportedTests = z.object({
  result: z.enum(['passed', 'warned', 'failed']),
  passed: z.number().int(),
  warned: z.number().int(),
  failed: z.number().int(),
  failedTests: exactOptional(z.array(z.string())),
  finishedAt: exactOptional(Time),
});

export const ExportedBundle = z
  .object({
    digest: DigestText.openapi({ description: 'Digest of the bytes of the bundle' }),
    size: z.number().int().openapi({ description: 'Bytes' }),
    manifest: z
      .string()
      .openapi({ description: 'Digest of the manifest that contains it in the repository' }),
    claim: z.enum(['signature', 'attestation']),
    predicateType: z.string(),
    signer: ExportedSigner.optional().openapi({ description: 'Absent if the key is unknown' }),
    signedAt: Time.optional(),
    tests: exactOptional(ExportedTests),
    provenance: exactOptional(
      z.object({ builder: exactOptional(z.string()), repository: exactOptional(z.string()) }),
    ),
    receivedAt: Time,
    receivedBy: z.string(),
  })
  .openapi('ExportedBundle');

export const ExportedRelease = z
  .object({
    release: z.string().openapi({ example: '1.2.0' }),
    digest: DigestText.openapi({ description: 'Digest of the exact bytes of the definition' }),
    size: z.number().int().openapi({ description: 'Bytes of the definition' }),
    versions: z.array(z.string()).openapi({ description: 'API versions, most preferred first' }),
    tags: z.array(z.string()),
    publisher: z.string(),
    runtimes: z.array(z.string()),
    licenses: z.array(z.string()),
    publishedAt: Time,
    publishedBy: z.string(),
    yanked: LifecycleChange.optional(),
    deprecated: Deprecation.optional(),
    bundles: z.array(ExportedBundle).optional(),
    definition: FunctionDefinition,
  })
  .openapi('ExportedRelease');

export const ExportedFunction = z
  .object({
    group: z.string(),
    kind: z.string(),
    releases: z
      .array(ExportedRelease)
      .openapi({ description: 'Newest first, by SemVer precedence. Empty if all were taken down' }),
  })
  .openapi('ExportedFunction', { description: 'One line' });

/** The first line of a catalog's inputs. */
export const CatalogInputs = z
  .object({
    catalog: z.string(),
    recipe: z.string().openapi({ description: 'Exact text' }),
    policies: z.string().optional().openapi({
      description:
        'Exact text of the signing policies of the registry. Present only if the recipe has `policies: true`',
    }),
    access: z
      .object({
        document: z.string().optional().openapi({ description: 'Exact text of the Access document' }),
        claims: z.array(z.object({ group: z.string(), team: z.string(), proof: z.enum(['dns', 'https']) })),
      })
      .optional()
      .openapi({ description: 'Who may read what. Absent if the registry hides nothing' }),
    clock: Time.openapi({ description: 'The time at which minimum ages are evaluated' }),
    throughEvent: z
      .number()
      .int()
      .openapi({ description: 'Sequence of the last event that the newest snapshot includes' }),
    settled: z
      .boolean()
      .openapi({ description: 'Whether there are no newer events that change the catalog' }),
    snapshot: z
      .object({
        serial: z.number().int(),
        previous: DigestText.nullable(),
        digests: z.object({
          'catalog.yaml': DigestText,
          'catalog.json': DigestText,
          'krmfunctioncatalog.yaml': DigestText,
          'krmfunctioncatalog.json': DigestText,
        }),
      })
      .optional()
      .openapi({ description: 'The newest snapshot. Absent if it does not exist, or if it was withdrawn' }),
    sources: z.array(
      z.object({
        source: z.string(),
        url: z.string(),
        state: z.enum(['current', 'stale', 'missing']),
        reason: z.string().optional().openapi({ description: 'Why the last sync failed' }),
        digest: DigestText.optional().openapi({ description: 'Digest of the last good copy' }),
        size: z.number().int().optional().openapi({ description: 'Bytes of the last good copy' }),
        serial: z.number().int().optional(),
        signatures: z.array(
          z.object({ signer: ExportedSigner, signedAt: Time.optional(), receivedAt: Time }),
        ),
        warnings: z
          .array(
            z.object({
              code: z.string(),
              group: z.string(),
              message: z.string(),
              like: z.string().optional(),
            }),
          )
          .optional()
          .openapi({ description: 'Groups that look like groups of the registry' }),
      }),
    ),
  })
  .openapi('CatalogInputs', {
    description:
      'The inputs of a catalog except the functions of the registry. The entries of its sources follow',
  });

/** Every further line. */
export const CatalogInputsEntry = z
  .object({
    source: z.string(),
    group: z.string(),
    kind: z.string(),
    definition: DigestText.openapi({ description: 'Digest of the entry in normal form' }),
    firstSeen: Time,
    goneAt: Time.optional().openapi({
      description: 'When the source removed the entry. Only removed entries contain `entry`',
    }),
    entry: FunctionDefinition.optional(),
  })
  .openapi('CatalogInputsEntry', {
    description: 'For each function and source: the current entry, then removed ones, latest first',
  });

export type CatalogInputs = z.infer<typeof CatalogInputs>;
export type CatalogInputsEntry = z.infer<typeof CatalogInputsEntry>;
export type ExportedSigner = z.infer<typeof ExportedSigner>;
export type ExportedBundle = z.infer<typeof ExportedBundle>;
export type ExportedRelease = z.infer<typeof ExportedRelease>;
export type ExportedFunction = z.infer<typeof ExportedFunction>;
