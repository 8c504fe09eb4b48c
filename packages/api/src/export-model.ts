import { z } from '@hono/zod-openapi';
import { DigestText, LifecycleChange, Time } from './base-model.js';
import { FunctionDefinition } from './document-model.js';

/** What a registry gives to mirrors, and to who builds catalogs elsewhere: everything that its own cuts look at. */

export const ExportedSigner = z
  .object({
    type: z.enum(['key', 'identity']),
    fingerprint: DigestText.optional().openapi({ description: 'Of a key' }),
    issuer: z.string().optional().openapi({ description: 'Of an identity' }),
    subject: z.string().optional().openapi({ description: 'Of an identity' }),
  })
  .openapi('ExportedSigner');

export const ExportedBundle = z
  .object({
    digest: DigestText.openapi({ description: 'Digest of the bytes of the bundle' }),
    size: z.number().int().openapi({ description: 'Bytes' }),
    manifest: z.string().openapi({ description: 'Digest of the manifest that holds it in the repository' }),
    claim: z.enum(['signature', 'attestation']),
    predicateType: z.string(),
    signer: ExportedSigner.optional().openapi({ description: 'Absent where the key is not known' }),
    signedAt: Time.optional(),
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
    deprecated: LifecycleChange.optional(),
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
      .openapi({ description: 'Newest first, by SemVer precedence; none where all were taken down' }),
  })
  .openapi('ExportedFunction', { description: 'One line' });

/** The first line of a catalog's inputs. */
export const CatalogInputs = z
  .object({
    catalog: z.string(),
    recipe: z.string().openapi({ description: 'Exact text' }),
    clock: Time.openapi({ description: 'By which minimum ages are judged' }),
    throughEvent: z.number().int().openapi({ description: 'The catalog is cut through this event' }),
    settled: z.boolean().openapi({ description: 'Nothing happened since that a cut would look at' }),
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
      .openapi({ description: 'The newest; absent where there is none, or where it was withdrawn' }),
    sources: z.array(
      z.object({
        source: z.string(),
        url: z.string(),
        state: z.enum(['current', 'stale', 'missing']),
        reason: z.string().optional().openapi({ description: 'Why the last look did not succeed' }),
        digest: DigestText.optional().openapi({ description: 'Of the last good copy' }),
        size: z.number().int().optional().openapi({ description: 'Bytes of it' }),
        serial: z.number().int().optional(),
        signatures: z.array(
          z.object({ signer: ExportedSigner, signedAt: Time.optional(), receivedAt: Time }),
        ),
      }),
    ),
  })
  .openapi('CatalogInputs', {
    description:
      'What a catalog is made from, beside the functions of the registry; the entries of sources follow',
  });

/** Every other line. */
export const CatalogInputsEntry = z
  .object({
    source: z.string(),
    group: z.string(),
    kind: z.string(),
    definition: DigestText.openapi({ description: 'Digest of the entry in normal form' }),
    firstSeen: Time,
    goneAt: Time.optional().openapi({
      description: 'Of an entry that stood there before; it has its `entry`',
    }),
    entry: FunctionDefinition.optional(),
  })
  .openapi('CatalogInputsEntry', {
    description: 'Of each function and source what stands there, then what stood there, the latest first',
  });

export type CatalogInputs = z.infer<typeof CatalogInputs>;
export type CatalogInputsEntry = z.infer<typeof CatalogInputsEntry>;
export type ExportedSigner = z.infer<typeof ExportedSigner>;
export type ExportedBundle = z.infer<typeof ExportedBundle>;
export type ExportedRelease = z.infer<typeof ExportedRelease>;
export type ExportedFunction = z.infer<typeof ExportedFunction>;
