import { z } from '@hono/zod-openapi';
import { CI_PROVIDERS, RUNTIME_KINDS } from '@krmhub/schema';
import { mapFacets } from '@krmhub/schema/facets';
import {
  Deprecation,
  DigestText,
  exactOptional,
  LifecycleChange,
  Replacement,
  Takedown,
  Time,
} from './base-model.js';
import { EntryVersion, FunctionDefinition } from './document-model.js';
import { GroupOwner } from './owner-model.js';
import { Bundle, TestReport, Verdict } from './trust-model.js';

/** The JSON of functions, their releases and search results. */

export const ReleaseSummary = z
  .object({
    release: z.string().openapi({ example: '1.2.0' }),
    digest: DigestText.openapi({ description: 'Digest of the exact bytes of the definition' }),
    size: z.number().int().openapi({ description: 'Bytes of the definition' }),
    versions: z.array(z.string()).openapi({ description: 'API versions of the functionConfig' }),
    publishedAt: Time,
    publishedBy: z.string(),
    yanked: LifecycleChange.optional(),
    deprecated: Deprecation.optional(),
    signature: Verdict,
  })
  .openapi('ReleaseSummary');

export const WorkflowRun = z
  .object({
    provider: z.enum(CI_PROVIDERS),
    issuer: z.string().optional().openapi({
      description: 'Who signed it. Absent for the usual issuer of the provider',
    }),
    workflow: z.string().openapi({ example: 'example/functions release.yml' }),
    url: z.string().optional().openapi({ description: 'Page of the run' }),
    commit: z.string().optional(),
    ref: z.string().optional().openapi({ example: 'refs/tags/v1.0.0' }),
  })
  .openapi('WorkflowRun', { description: 'The run of a workflow, as its provider signed it' });

export const Release = ReleaseSummary.extend({
  group: z.string(),
  kind: z.string(),
  owner: GroupOwner.optional(),
  definition: FunctionDefinition,
  readme: z.boolean().openapi({ description: 'Whether the release has a README' }),
  notes: z.string().optional().openapi({
    description: 'What is new in the release, in Markdown. No signature covers it',
  }),
  run: WorkflowRun.optional().openapi({
    description: 'The run that published it. Absent for a token of a person or a robot',
  }),
  builtFrom: exactOptional(
    z.string().openapi({
      description:
        'What the certificate of its verified signature states about the build, in one line. Absent if the signature is rejected',
      example: 'built from github.com/example/functions at 1a2b3c4 by release.yml on the tag v1.0.0',
    }),
  ),
  bundles: z
    .array(Bundle)
    .openapi({ description: 'Signatures and attestations in the order in which they were received' }),
  tests: z.array(TestReport).optional().openapi({
    description:
      'The newest report of each tester: those of trusted signers first, and of those, failures first. Absent if there are none',
  }),
}).openapi('Release');

export const ServedEntry = z
  .object({
    catalog: z.string(),
    serial: z.number().int().openapi({ description: 'Serial of the newest snapshot of the catalog' }),
    definition: FunctionDefinition,
    versions: z.array(EntryVersion).openapi({ description: 'The source of each API version' }),
  })
  .openapi('ServedEntry', {
    description: 'The entry of a catalog for an upstream function',
  });

export const CatalogFunction = z
  .object({
    catalog: z.string(),
    serial: z.number().int().openapi({ description: "Serial of the catalog's newest snapshot" }),
    digest: DigestText.openapi({ description: 'Digest of the catalog.yaml of that snapshot' }),
    owner: GroupOwner.optional(),
    definition: FunctionDefinition,
    versions: z
      .array(EntryVersion.extend({ yanked: LifecycleChange.optional(), deprecated: Deprecation.optional() }))
      .openapi({ description: 'The source and the release of each API version' }),
  })
  .openapi('CatalogFunction', { description: 'One entry of a catalog and where it comes from' });

export const FunctionDetail = z
  .object({
    group: z.string(),
    kind: z.string(),
    owner: GroupOwner.optional(),
    newest: Release.optional().openapi({
      description:
        'The newest release that is not yanked, or the newest release if all are yanked. Absent for a function that ' +
        'exists only in upstream catalogs, because its releases are unknown',
    }),
    releases: z.array(ReleaseSummary).openapi({
      description: 'Releases in this registry, newest first, by SemVer precedence',
    }),
    takedowns: z.array(Takedown).optional().openapi({ description: 'Releases that were taken down' }),
    catalogs: z
      .array(z.string())
      .openapi({ description: 'Catalogs whose newest snapshot contains the function' }),
    entries: z
      .array(ServedEntry)
      .optional()
      .openapi({
        description:
          'Entries of catalogs that come from upstream catalogs. Search shows the first one for a ' +
          'function without releases. Absent if there are none',
      }),
  })
  .openapi('Function');

export const SearchItem = z
  .object({
    group: z.string(),
    kind: z.string(),
    description: z.string(),
    publisher: z.string().openapi({ description: 'Text of the definition, which nothing verifies' }),
    owner: exactOptional(GroupOwner),
    release: z.string().optional().openapi({
      description:
        'Absent for a function that exists only in upstream catalogs, because its releases are unknown',
    }),
    imageTag: z.string().optional().openapi({
      description: 'Tag of the images of a function without a release here, if all have the same',
    }),
    publishedAt: Time.optional().openapi({ description: 'When this release was published' }),
    from: z
      .array(
        z.object({
          catalog: z.string(),
          source: z.string().openapi({ description: 'Name of a source in the recipe of the catalog' }),
        }),
      )
      .optional()
      .openapi({
        description:
          'For a function that exists only in upstream catalogs: the catalogs that contain it, and their sources',
      }),
    versions: z.array(z.string()),
    tags: z.array(z.string()),
    runtimes: z.array(z.enum(RUNTIME_KINDS)),
    license: z.string(),
    network: z.boolean().openapi({ description: 'Whether it may access the network' }),
    storage: z.boolean().openapi({ description: 'Whether it may access files' }),
    pinned: z.boolean().openapi({ description: 'Whether a digest pins everything that it runs' }),
    signedBy: z.array(z.string()),
    signature: Verdict,
    yanked: z.boolean(),
    deprecated: z.boolean(),
    replacement: exactOptional(Replacement).openapi({
      description: 'What to use instead, if the displayed release is deprecated',
    }),
  })
  .openapi('SearchItem');

/** Empty in a response of an older registry, which does not know the facet. */
const Facet = z
  .array(
    z.object({
      value: z.string(),
      count: z.number().int(),
      text: exactOptional(z.string().openapi({ description: 'Display name of the team, of an owner' })),
    }),
  )
  .default([]);

export const SearchResult = z
  .object({
    total: z.number().int(),
    items: z.array(SearchItem),
    facets: z
      .object(
        mapFacets((_, { counts }) => (counts === undefined ? Facet : Facet.openapi({ description: counts }))),
      )
      .openapi({
        description: 'The most frequent values. The counts ignore the filter of the same name',
      }),
    next: z.string().optional().openapi({ description: 'Cursor of the next page' }),
    corrected: z.string().optional().openapi({
      description: 'The text that was searched instead of `q`, because no function has its words',
      example: 'labels',
    }),
    partial: z.boolean().optional().openapi({
      description: 'Whether no function has all words of `q`: the items have most of them',
    }),
  })
  .openapi('SearchResult');

export type ReleaseSummary = z.infer<typeof ReleaseSummary>;
export type Release = z.infer<typeof Release>;
export type CatalogFunction = z.infer<typeof CatalogFunction>;
export type FunctionDetail = z.infer<typeof FunctionDetail>;
export type ServedEntry = z.infer<typeof ServedEntry>;
export type SearchItem = z.infer<typeof SearchItem>;
export type SearchResult = z.infer<typeof SearchResult>;
