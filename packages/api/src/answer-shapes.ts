import type {
  EntryVersion,
  FunctionDefinition,
  ProfileReport,
  Snapshot,
  SnapshotReport,
} from '@krmhub/schema';
import type { ShapeOf } from './answer-shape.js';
import type { FunctionAnswer, ReleaseAnswer } from './answers.js';
import type * as model from './model.js';

/** The shapes of the answers in model.ts; the compiler holds them to its types. */

export const MARK: ShapeOf<NonNullable<model.ReleaseSummary['yanked']>> = {
  at: 'string',
  by: 'string',
  reason: 'string',
};

export const TAKEDOWN: ShapeOf<model.Takedown> = {
  group: 'string',
  kind: 'string',
  release: 'string',
  digest: 'string',
  at: 'string',
  by: 'string',
  reason: 'string',
};

const VERDICT: ShapeOf<model.Verdict> = {
  trusted: 'boolean',
  'signer?': 'string',
  'policy?': 'string',
  'reason?': 'string',
};

const BUNDLE: ShapeOf<model.Bundle> = {
  digest: 'string',
  size: 'number',
  manifest: 'string',
  claim: 'string',
  predicateType: 'string',
  'signer?': 'string',
  'signedAt?': 'string',
  receivedAt: 'string',
  receivedBy: 'string',
};

export const BUNDLE_LIST: ShapeOf<model.BundleList> = { bundles: [BUNDLE], signature: VERDICT };

const RELEASE_SUMMARY: ShapeOf<model.ReleaseSummary> = {
  release: 'string',
  digest: 'string',
  size: 'number',
  versions: ['string'],
  publishedAt: 'string',
  publishedBy: 'string',
  'yanked?': MARK,
  'deprecated?': MARK,
  signature: VERDICT,
};

export const DEFINITION: ShapeOf<FunctionDefinition> = {
  group: 'string',
  names: { kind: 'string' },
  description: 'string',
  publisher: 'string',
  versions: [
    {
      name: 'string',
      schema: { openAPIV3Schema: 'object' },
      idempotent: 'boolean',
      runtime: {
        'container?': {
          image: 'string',
          'sha256?': 'string',
          'requireNetwork?': 'boolean',
          'requireStorageMount?': 'boolean',
        },
        'exec?': {
          platforms: [{ bin: 'string', os: 'string', arch: 'string', uri: 'string', sha256: 'string' }],
        },
        'starlark?': 'string',
      },
      usage: 'string',
      examples: ['string'],
      license: 'string',
      'maintainers?': ['string'],
      'configMap?': 'boolean',
    },
  ],
  'home?': 'string',
  'maintainers?': ['string'],
  'tags?': ['string'],
};

export const RELEASE: ShapeOf<ReleaseAnswer> = {
  ...RELEASE_SUMMARY,
  group: 'string',
  kind: 'string',
  definition: DEFINITION,
  readme: 'boolean',
  bundles: [BUNDLE],
};

const ENTRY_VERSION: ShapeOf<EntryVersion> = {
  name: 'string',
  source: 'string',
  'release?': 'string',
  definition: 'string',
  'signedBy?': 'string',
  'rewritten?': 'boolean',
};

export const FUNCTION: ShapeOf<FunctionAnswer> = {
  group: 'string',
  kind: 'string',
  'newest?': RELEASE,
  releases: [RELEASE_SUMMARY],
  'takedowns?': [TAKEDOWN],
  catalogs: ['string'],
  'entries?': [{ catalog: 'string', serial: 'number', definition: DEFINITION, versions: [ENTRY_VERSION] }],
};

const FACET: ShapeOf<model.SearchResult['facets']['tag']> = [{ value: 'string', count: 'number' }];

export const SEARCH_RESULT: ShapeOf<model.SearchResult> = {
  total: 'number',
  items: [
    {
      group: 'string',
      kind: 'string',
      description: 'string',
      publisher: 'string',
      'release?': 'string',
      'publishedAt?': 'string',
      'from?': [{ catalog: 'string', source: 'string' }],
      versions: ['string'],
      tags: ['string'],
      runtimes: ['string'],
      license: 'string',
      signedBy: ['string'],
      signature: VERDICT,
      yanked: 'boolean',
      deprecated: 'boolean',
    },
  ],
  facets: {
    tag: FACET,
    kind: FACET,
    group: FACET,
    publisher: FACET,
    runtime: FACET,
    license: FACET,
    signedBy: FACET,
    catalog: FACET,
  },
  'next?': 'string',
};

const DIAGNOSTICS: ShapeOf<model.Diagnostic[]> = [
  {
    code: 'string',
    severity: 'string',
    message: 'string',
    file: 'string',
    path: 'string',
    'range?': { start: { line: 'number', column: 'number' }, end: { line: 'number', column: 'number' } },
    'hint?': 'string',
  },
];

const SNAPSHOT_REFERENCE: ShapeOf<model.PublishResult['catalogs'][number]> = {
  catalog: 'string',
  serial: 'number',
  digest: 'string',
};

export const PUBLISH_RESULT: ShapeOf<model.PublishResult> = {
  outcome: 'string',
  dryRun: 'boolean',
  release: { ...RELEASE_SUMMARY, group: 'string', kind: 'string' },
  diagnostics: DIAGNOSTICS,
  catalogs: [SNAPSHOT_REFERENCE],
};

export const POLICY_SET: ShapeOf<model.PolicySet> = {
  text: 'string',
  'appliedAt?': 'string',
  'appliedBy?': 'string',
  policies: [
    {
      name: 'string',
      groups: ['string'],
      'releases?': 'string',
      signers: [
        {
          'key?': 'string',
          'fingerprint?': 'string',
          'issuer?': 'string',
          'subject?': 'string',
          'subjectPattern?': 'string',
          'validFrom?': 'string',
          'validUntil?': 'string',
          'revoked?': 'string',
        },
      ],
    },
  ],
};

export const POLICY_RESULT: ShapeOf<model.PolicyResult> = {
  outcome: 'string',
  dryRun: 'boolean',
  policies: 'number',
  diagnostics: DIAGNOSTICS,
  changes: [{ group: 'string', kind: 'string', release: 'string', before: VERDICT, after: VERDICT }],
  changed: 'number',
  coverage: [{ name: 'string', functions: 'number' }],
};

const EVENT: ShapeOf<model.Event> = {
  sequence: 'number',
  type: 'string',
  at: 'string',
  by: 'string',
  'group?': 'string',
  'kind?': 'string',
  'release?': 'string',
  'digest?': 'string',
  'catalog?': 'string',
  'source?': 'string',
  'serial?': 'number',
  'reason?': 'string',
};

export const EVENT_PAGE: ShapeOf<model.EventPage> = { events: [EVENT], next: 'number' };
export const REVOCATION_PAGE: ShapeOf<model.RevocationPage> = { revocations: [EVENT], next: 'number' };

export const TAKEDOWN_RESULT: ShapeOf<model.TakedownResult> = {
  outcome: 'string',
  dryRun: 'boolean',
  takedowns: [TAKEDOWN],
  blobs: [{ digest: 'string', keptBy: [{ group: 'string', kind: 'string', release: 'string' }] }],
  withdrawn: [SNAPSHOT_REFERENCE],
  repositories: ['string'],
  catalogs: [SNAPSHOT_REFERENCE],
  erased: 'boolean',
};

const SNAPSHOT_SUMMARY: ShapeOf<model.SnapshotSummary> = {
  serial: 'number',
  digest: 'string',
  functions: 'number',
  createdAt: 'string',
  'withdrawn?': TAKEDOWN,
};

export const CATALOG: ShapeOf<model.CatalogDetail> = {
  name: 'string',
  recipe: 'string',
  appliedAt: 'string',
  appliedBy: 'string',
  'newest?': SNAPSHOT_SUMMARY,
};

export const CATALOG_LIST: ShapeOf<model.CatalogList> = { catalogs: [CATALOG] };
export const SNAPSHOT_LIST: ShapeOf<model.SnapshotList> = {
  catalog: 'string',
  snapshots: [SNAPSHOT_SUMMARY],
};
export const APPLY_RESULT: ShapeOf<model.ApplyResult> = {
  outcome: 'string',
  catalog: CATALOG,
  diagnostics: DIAGNOSTICS,
};

export const SOURCE: ShapeOf<model.Source> = {
  catalog: 'string',
  source: 'string',
  url: 'string',
  state: 'string',
  nextAt: 'string',
  'checkedAt?': 'string',
  'problem?': 'string',
  'message?': 'string',
  'failingSince?': 'string',
  'copy?': {
    digest: 'string',
    size: 'number',
    fetchedAt: 'string',
    'formerUrl?': 'string',
    entries: 'number',
    invalid: [{ entry: 'number', 'group?': 'string', 'kind?': 'string', message: 'string' }],
    invalidEntries: 'number',
    'serial?': 'number',
    'expires?': 'string',
    signedBy: ['string'],
  },
};
export const SOURCE_LIST: ShapeOf<model.SourceList> = { sources: [SOURCE] };

export const TOKEN: ShapeOf<model.Token> = {
  id: 'string',
  name: 'string',
  scopes: ['string'],
  groups: ['string'],
  repositories: ['string'],
  createdAt: 'string',
  createdBy: 'string',
  'expiresAt?': 'string',
  'lastUsedAt?': 'string',
  'revokedAt?': 'string',
  'revokedReason?': 'string',
};

export const TOKEN_LIST: ShapeOf<model.TokenList> = { tokens: [TOKEN] };
export const CREATED_TOKEN: ShapeOf<model.CreatedToken> = { ...TOKEN, token: 'string' };

export const REGISTRY_KEY_LIST: ShapeOf<model.RegistryKeyList> = {
  keys: [{ fingerprint: 'string', publicKey: 'string', validFrom: 'string', 'validUntil?': 'string' }],
};

export const SNAPSHOT: ShapeOf<Snapshot> = {
  apiVersion: 'string',
  kind: 'string',
  catalog: 'string',
  serial: 'number',
  'previous|null': 'string',
  digests: {
    'catalog.yaml': 'string',
    'catalog.json': 'string',
    'krmfunctioncatalog.yaml': 'string',
    'krmfunctioncatalog.json': 'string',
  },
  entries: [
    {
      group: 'string',
      kind: 'string',
      versions: [ENTRY_VERSION],
    },
  ],
};

const PLACE = { group: 'string', kind: 'string', source: 'string' } as const;
export const SNAPSHOT_REPORT: ShapeOf<SnapshotReport> = {
  apiVersion: 'string',
  kind: 'string',
  catalog: 'string',
  serial: 'number',
  'sources?': [
    {
      source: 'string',
      url: 'string',
      state: 'string',
      'digest?': 'string',
      'serial?': 'number',
      'reason?': 'string',
      invalid: [{ entry: 'number', 'group?': 'string', 'kind?': 'string', message: 'string' }],
      invalidEntries: 'number',
    },
  ],
  shadowed: [
    { ...PLACE, version: 'string', 'release?': 'string', by: { source: 'string', 'release?': 'string' } },
  ],
  'refused?': [
    {
      ...PLACE,
      version: 'string',
      'release?': 'string',
      reasons: [{ code: 'string', message: 'string' }],
    },
  ],
  yanked: [{ ...PLACE, release: 'string' }],
};

export const PROFILE_REPORT: ShapeOf<ProfileReport> = {
  apiVersion: 'string',
  kind: 'string',
  catalog: 'string',
  'snapshot?': 'string',
  profile: 'string',
  unsaid: [{ field: 'string', message: 'string' }],
  losses: [{ group: 'string', kind: 'string', 'version?': 'string', 'field?': 'string', message: 'string' }],
  digest: 'string',
  functions: 'number',
  omitted: 'number',
};
