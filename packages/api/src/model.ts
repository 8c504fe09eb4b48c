import { z } from '@hono/zod-openapi';
import { AUDIT_ACTIONS, ERROR_CODES, EVENT_TYPES } from '@krmhub/schema';
import {
  Diagnostic,
  DigestText,
  exactOptional,
  Replacement,
  Takedown,
  TakenDownSigner,
  Time,
} from './base-model.js';
import { ReleaseSummary } from './function-model.js';
import * as parameters from './parameters.js';

export * from './access-model.js';
export { Diagnostic, Replacement, Takedown } from './base-model.js';
export * from './consumer-model.js';
export * from './function-model.js';
export * from './login-model.js';
export * from './owner-model.js';
export * from './release-history-model.js';
export * from './source-model.js';
export * from './token-model.js';
export * from './trust-model.js';
export * from './trusted-publisher-model.js';
export * from './user-model.js';

/** The JSON of requests and responses of the HTTP API. */

export const Problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.enum(ERROR_CODES),
    detail: z.string(),
    hint: z.string().optional(),
    diagnostics: z.array(Diagnostic).optional(),
    takedowns: z.array(Takedown).optional(),
    requestId: z.string().optional(),
  })
  .openapi('Problem', { description: 'RFC 9457 problem details' });

export const CatalogSnapshotReference = z
  .object({ catalog: z.string(), serial: z.number().int(), digest: DigestText })
  .openapi('CatalogSnapshotReference');

export const PublishResult = z
  .object({
    outcome: z.enum(['created', 'attached', 'unchanged']).openapi({
      description:
        '`attached`: the release existed with these bytes, and bundles of the request were added to it',
    }),
    dryRun: z.boolean(),
    release: ReleaseSummary.extend({ group: z.string(), kind: z.string() }),
    diagnostics: z.array(Diagnostic).openapi({ description: 'Warnings' }),
    catalogs: z
      .array(CatalogSnapshotReference)
      .openapi({ description: 'With `wait=true`: the newest snapshots that contain the release' }),
  })
  .openapi('PublishResult');

export const TakedownResult = z
  .object({
    outcome: z.enum(['taken-down', 'allowed', 'unchanged']).openapi({
      description:
        '`allowed`: the release was taken down before, and its `refused` digests are allowed again',
    }),
    dryRun: z.boolean(),
    takedowns: z
      .array(Takedown)
      .openapi({ description: 'The release, and other releases of the function with the same bytes' }),
    blobs: z
      .array(
        z.object({
          digest: DigestText,
          keptBy: z
            .array(z.object({ group: z.string(), kind: z.string(), release: z.string() }))
            .openapi({ description: 'Other releases that still use these bytes' }),
        }),
      )
      .openapi({ description: 'Blobs of definitions and READMEs' }),
    scripts: z
      .array(
        z.object({
          digest: DigestText,
          keptBy: z
            .array(z.object({ group: z.string(), kind: z.string(), release: z.string() }))
            .openapi({ description: 'Other releases that still use the script' }),
        }),
      )
      .openapi({ description: 'Manifests of the Starlark scripts that the definition names by digest' }),
    refused: exactOptional(
      z.array(DigestText).openapi({
        description:
          'Digests of images, executables, and scripts that the registry refuses for the release. Absent from older registries',
      }),
    ),
    withdrawn: z
      .array(CatalogSnapshotReference)
      .openapi({ description: 'Snapshots that contained the release' }),
    repositories: z.array(z.string()).openapi({
      description:
        'Artifact repositories that contained copies. The manifests that reference the copies are deleted',
    }),
    catalogs: z
      .array(CatalogSnapshotReference)
      .openapi({ description: 'The newest snapshots of the affected catalogs, without the release' }),
    erased: z
      .boolean()
      .openapi({ description: 'Whether all bytes are deleted from the disk. If not, the registry retries' }),
  })
  .openapi('TakedownResult');

export const Event = z
  .object({
    sequence: z.number().int(),
    type: z.enum(EVENT_TYPES),
    at: Time,
    by: z.string(),
    group: z.string().optional(),
    kind: z.string().optional(),
    release: z.string().optional(),
    digest: DigestText.optional(),
    catalog: z.string().optional(),
    source: z.string().optional().openapi({ description: 'Name of a source in the recipe of the catalog' }),
    serial: z.number().int().optional(),
    reason: z.string().optional(),
    replacement: exactOptional(Replacement),
    signers: z.array(TakenDownSigner).optional().openapi({
      description: 'Who signed a release that was taken down; only in `/api/v1/revocations`',
    }),
    scripts: z.array(DigestText).optional().openapi({
      description:
        'Digests of the manifests and files of its scripts, which were deleted with it; only in `/api/v1/revocations`',
    }),
    runtimeDigests: z.array(DigestText).optional().openapi({
      description:
        'Digests of images, executables, and scripts that the registry refuses; only in `/api/v1/revocations`',
    }),
  })
  .openapi('Event');

export const EventPage = z.object({ events: z.array(Event), next: z.number().int() }).openapi('EventPage', {
  description: 'Pass `next` as `after` to get the next page',
});

export const RevocationPage = z
  .object({ revocations: z.array(Event), next: z.number().int() })
  .openapi('RevocationPage', { description: 'Pass `next` as `after` to get the next page' });

export const AuditRow = z
  .object({
    sequence: z.number().int().openapi({ description: 'Counts from 1 without gaps' }),
    at: Time,
    actor: z.string().openapi({
      description: 'Name of the token; `krmhub` for the registry itself, `anonymous` without a known token',
    }),
    action: z.enum(AUDIT_ACTIONS),
    object: z.string().openapi({ example: 'release/example.com/SetLabels@1.0.0' }),
    outcome: z.enum(['done', 'refused']),
    credential: z.string().optional().openapi({ description: 'ID of the token' }),
    address: z.string().optional().openapi({ description: 'Address of the client, or its network' }),
    requestId: z.string().optional(),
    detail: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    hash: DigestText.openapi({
      description: 'SHA-256 of the hash of the row before and of the content of this one',
    }),
  })
  .openapi('AuditRow');

export const AuditPage = z
  .object({ rows: z.array(AuditRow), next: z.number().int().optional() })
  .openapi('AuditPage', {
    description: 'Newest first. Pass `next` as `before` to get the next page, which can have no rows',
  });

export const SnapshotSummary = z
  .object({
    serial: z.number().int(),
    digest: DigestText.openapi({ description: 'Digest of catalog.yaml' }),
    functions: z.number().int(),
    createdAt: Time,
    withdrawn: Takedown.partial({ group: true, kind: true, release: true, digest: true }).optional().openapi({
      description:
        'The takedown that removed the bytes of the snapshot. Without the release if the client may not read it',
    }),
  })
  .openapi('SnapshotSummary');

export const CatalogDetail = z
  .object({
    name: z.string(),
    description: z.string().optional().openapi({ description: 'What the catalog is for, from the recipe' }),
    recipe: z.string().openapi({
      description:
        'The exact recipe, YAML; a comment if it names groups or functions that the client may not read',
    }),
    appliedAt: Time,
    appliedBy: z.string(),
    newest: SnapshotSummary.optional(),
  })
  .openapi('Catalog');

export const CatalogTombstone = z
  .object({
    name: z.string(),
    at: Time,
    by: z.string(),
    reason: z.string(),
    restorableUntil: Time.openapi({ description: 'Until then, an administrator can restore the catalog' }),
    purgedAt: Time.optional().openapi({
      description: 'When the registry deleted its data. The catalog cannot be restored any more',
    }),
  })
  .openapi('CatalogTombstone', { description: 'A deleted catalog. Its name stays reserved' });

export const CatalogList = z
  .object({ catalogs: z.array(CatalogDetail), deleted: z.array(CatalogTombstone).optional() })
  .openapi('CatalogList', { description: '`deleted` is absent if no catalog is deleted' });

export const RestoreResult = z
  .object({ outcome: z.enum(['restored', 'unchanged']), catalog: CatalogDetail })
  .openapi('RestoreResult');
export const SnapshotList = z
  .object({
    catalog: z.string(),
    snapshots: z.array(SnapshotSummary),
    total: z.number().int().openapi({ description: 'All snapshots of the catalog, withdrawn ones too' }),
    next: z
      .number()
      .int()
      .optional()
      .openapi({ description: 'Pass it as `before` to get the next page. Absent on the last page' }),
  })
  .openapi('SnapshotList', { description: 'Newest first' });

export const ApplyResult = z
  .object({
    outcome: z.enum(['created', 'changed', 'unchanged']),
    catalog: CatalogDetail,
    diagnostics: z.array(Diagnostic),
  })
  .openapi('ApplyResult');

export const ReasonRequest = z.object({ reason: z.string().min(1).max(1000) }).openapi('ReasonRequest');

export const TakedownRequest = ReasonRequest.extend({
  runtimes: z.enum(['refuse', 'allow'], 'must be refuse or allow').optional().openapi({
    description:
      '`refuse`: clients refuse the images, executables, and scripts that the definition names by digest, in every release. `allow`: ends this for a release that was taken down',
  }),
}).openapi('TakedownRequest');

export const DeprecateRequest = z
  .object({
    reason: z.string().min(1).max(1000).optional().openapi({ description: 'Default: use the replacement' }),
    replacement: z
      .object({
        group: parameters.Group,
        kind: parameters.Kind,
        releases: exactOptional(z.string().min(1).max(200)),
      })
      .optional(),
  })
  .refine(
    ({ reason, replacement }) => reason !== undefined || replacement !== undefined,
    'needs a reason or a replacement',
  )
  .openapi('DeprecateRequest', { description: 'A reason, a replacement, or both' });

export const RegistryKey = z
  .object({
    fingerprint: DigestText.openapi({ description: 'SHA-256 of the key as SubjectPublicKeyInfo in DER' }),
    publicKey: z.string().openapi({ description: 'PEM' }),
    validFrom: Time.openapi({
      description: 'Start of the validity period. The registry publishes a key earlier',
    }),
    validUntil: Time.optional().openapi({
      description: 'End of the validity period. Earlier signatures remain valid',
    }),
  })
  .openapi('RegistryKey');
export const RegistryKeyList = z
  .object({ keys: z.array(RegistryKey) })
  .openapi('RegistryKeyList', { description: 'Newest first' });

export const Health = z.object({ status: z.literal('ok') }).openapi('Health');

export const Readiness = z
  .object({
    status: z.enum(['ok', 'failing']),
    checks: z.array(
      z.object({
        name: z.enum(parameters.READINESS_CHECKS),
        status: z.enum(['ok', 'failing']),
        detail: z.string().optional().openapi({ description: 'The reason, if the check fails' }),
      }),
    ),
  })
  .openapi('Readiness');

export type DeprecateRequest = z.input<typeof DeprecateRequest>;
export type TakedownResult = z.infer<typeof TakedownResult>;
export type TakedownRequest = z.infer<typeof TakedownRequest>;
export type RevocationPage = z.infer<typeof RevocationPage>;
export type Problem = z.infer<typeof Problem>;
export type PublishResult = z.infer<typeof PublishResult>;
export type AuditRow = z.infer<typeof AuditRow>;
export type AuditPage = z.infer<typeof AuditPage>;
export type Event = z.infer<typeof Event>;
export type EventPage = z.infer<typeof EventPage>;
export type SnapshotSummary = z.infer<typeof SnapshotSummary>;
export type CatalogDetail = z.infer<typeof CatalogDetail>;
export type CatalogTombstone = z.infer<typeof CatalogTombstone>;
export type RestoreResult = z.infer<typeof RestoreResult>;
export type CatalogList = z.infer<typeof CatalogList>;
export type SnapshotList = z.infer<typeof SnapshotList>;
export type ApplyResult = z.infer<typeof ApplyResult>;
export type RegistryKey = z.infer<typeof RegistryKey>;
export type RegistryKeyList = z.infer<typeof RegistryKeyList>;
export type Readiness = z.infer<typeof Readiness>;
