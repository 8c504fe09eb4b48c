import { z } from '@hono/zod-openapi';
import {
  ARCHITECTURES,
  type EntryVersion as EntryVersionDocument,
  type ExecPlatform,
  type FunctionDefinition as FunctionDefinitionDocument,
  type FunctionRuntime,
  type FunctionVersion,
  type JsonObject,
  OPERATING_SYSTEMS,
  PROFILES,
  type ProfileReport as ProfileReportDocument,
  REFUSAL_CODES,
  type Snapshot as SnapshotDocument,
  type SnapshotReport as SnapshotReportDocument,
  SOURCE_WARNING_CODES,
} from '@krmhub/schema';
import { DigestText, exactOptional } from './base-model.js';

/**
 * Documents whose types belong to @krmhub/schema, as responses contain them. The OpenAPI document describes all but
 * EntryVersion as plain objects: their fields follow their own `apiVersion`, not the version of the HTTP API.
 */

/** One schema for every field of a document's type, which the compiler compares. */
type Fields<Document> = { [Name in keyof Document]-?: z.ZodType<Document[Name]> };

const opaque = { type: 'object', properties: {}, additionalProperties: {} } as const;

const anyObject = z.looseObject({}) as z.ZodType<object> as z.ZodType<JsonObject>;

const container = z.object({
  image: z.string(),
  sha256: exactOptional(z.string()),
  requireNetwork: exactOptional(z.boolean()),
  requireStorageMount: exactOptional(z.boolean()),
} satisfies Fields<NonNullable<FunctionRuntime['container']>>);

const platform = z.object({
  bin: z.string(),
  os: z.enum(OPERATING_SYSTEMS),
  arch: z.enum(ARCHITECTURES),
  uri: z.string(),
  sha256: exactOptional(z.string()),
} satisfies Fields<ExecPlatform>);

const runtime = z.object({
  container: exactOptional(container),
  exec: exactOptional(z.object({ platforms: z.array(platform) })),
  starlark: exactOptional(z.string()),
} satisfies Fields<FunctionRuntime>);

const functionVersion = z.object({
  name: z.string(),
  schema: z.object({ openAPIV3Schema: anyObject }),
  idempotent: z.boolean(),
  runtime,
  usage: z.string(),
  examples: z.array(z.string()),
  license: z.string(),
  maintainers: exactOptional(z.array(z.string())),
  configMap: exactOptional(z.boolean()),
} satisfies Fields<FunctionVersion>);

export const FunctionDefinition = z
  .object({
    group: z.string(),
    names: z.object({ kind: z.string() }),
    description: z.string(),
    publisher: z.string(),
    versions: z.array(functionVersion),
    home: exactOptional(z.string()),
    maintainers: exactOptional(z.array(z.string())),
    tags: exactOptional(z.array(z.string())),
  } satisfies Fields<FunctionDefinitionDocument>)
  .openapi({
    ...opaque,
    description: 'The definition in normal form: the spec of a KRMFunctionDefinition',
  });

export const EntryVersion = z
  .object({
    name: z.string().openapi({ description: 'API version of the functionConfig' }),
    source: z.string().openapi({ description: 'Name of a source in the recipe of the catalog' }),
    release: exactOptional(z.string()).openapi({
      description:
        'Absent for an entry of an upstream catalog, because upstream catalogs do not contain releases',
    }),
    definition: DigestText.openapi({
      description:
        'Digest of the exact definition bytes of the release. For an entry of an upstream catalog: of the entry in normal form',
    }),
    signedBy: exactOptional(z.string()).openapi({
      description: 'The signer, if the policy of the recipe trusts it',
    }),
    rewritten: exactOptional(z.literal(true)).openapi({
      description: 'Its references were rewritten to a mirror',
    }),
  } satisfies Fields<EntryVersionDocument>)
  .openapi('EntryVersion');

const apiVersion = z.literal('krmhub.dev/v1alpha1');

export const Snapshot = z
  .object({
    apiVersion,
    kind: z.literal('Snapshot'),
    catalog: z.string(),
    serial: z.number().int(),
    previous: DigestText.nullable(),
    digests: z.object({
      'catalog.yaml': DigestText,
      'catalog.json': DigestText,
      'krmfunctioncatalog.yaml': DigestText,
      'krmfunctioncatalog.json': DigestText,
    }),
    entries: z.array(
      z.object({ group: z.string(), kind: z.string(), versions: z.array(EntryVersion) } satisfies Fields<
        SnapshotDocument['entries'][number]
      >),
    ),
  } satisfies Fields<SnapshotDocument>)
  .openapi(opaque);

const invalidEntry = z.object({
  entry: z.number().int(),
  group: exactOptional(z.string()),
  kind: exactOptional(z.string()),
  message: z.string(),
} satisfies Fields<ReportedSource['invalid'][number]>);

const completedEntry = z.object({
  entry: z.number().int(),
  group: z.string(),
  kind: z.string(),
  fields: z.array(z.string()),
} satisfies Fields<NonNullable<ReportedSource['completed']>[number]>);

const sourceWarning = z.object({
  code: z.enum(SOURCE_WARNING_CODES),
  group: z.string(),
  message: z.string(),
  like: exactOptional(z.string()),
} satisfies Fields<NonNullable<ReportedSource['warnings']>[number]>);

const reportedSource = z.object({
  source: z.string(),
  url: z.string(),
  state: z.enum(['current', 'stale', 'missing']),
  digest: exactOptional(DigestText),
  serial: exactOptional(z.number().int()),
  reason: exactOptional(z.string()),
  warning: exactOptional(z.string()),
  invalid: z.array(invalidEntry),
  invalidEntries: z.number().int(),
  completed: exactOptional(z.array(completedEntry)),
  completedEntries: exactOptional(z.number().int()),
  warnings: exactOptional(z.array(sourceWarning)),
} satisfies Fields<ReportedSource>);

type ReportedSource = NonNullable<SnapshotReportDocument['sources']>[number];

const provided = { group: z.string(), kind: z.string(), source: z.string() };

export const SnapshotReport = z
  .object({
    apiVersion,
    kind: z.literal('SnapshotReport'),
    catalog: z.string(),
    serial: z.number().int(),
    sources: exactOptional(z.array(reportedSource)),
    shadowed: z.array(
      z.object({
        ...provided,
        version: z.string(),
        release: exactOptional(z.string()),
        by: z.object({ source: z.string(), release: exactOptional(z.string()) }),
      } satisfies Fields<SnapshotReportDocument['shadowed'][number]>),
    ),
    refused: exactOptional(
      z.array(
        z.object({
          ...provided,
          version: z.string(),
          release: exactOptional(z.string()),
          reasons: z.array(z.object({ code: z.enum(REFUSAL_CODES), message: z.string() })),
        } satisfies Fields<NonNullable<SnapshotReportDocument['refused']>[number]>),
      ),
    ),
    yanked: z.array(
      z.object({ ...provided, release: z.string() } satisfies Fields<
        SnapshotReportDocument['yanked'][number]
      >),
    ),
  } satisfies Fields<SnapshotReportDocument>)
  .openapi(opaque);

export const ProfileReport = z
  .object({
    apiVersion,
    kind: z.literal('ProfileReport'),
    catalog: z.string(),
    snapshot: exactOptional(DigestText),
    profile: z.enum(PROFILES),
    unsaid: z.array(z.object({ field: z.string(), message: z.string() })),
    losses: z.array(
      z.object({
        group: z.string(),
        kind: z.string(),
        version: exactOptional(z.string()),
        field: exactOptional(z.string()),
        message: z.string(),
      } satisfies Fields<ProfileReportDocument['losses'][number]>),
    ),
    digest: DigestText,
    functions: z.number().int(),
    omitted: z.number().int(),
  } satisfies Fields<ProfileReportDocument>)
  .openapi(opaque);
