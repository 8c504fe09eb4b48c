import { LOCK_LIMITS, lockDocument, RECIPE_LIMITS, readLock, readRecipe } from '@krmhub/catalog';
import { type Diagnostic, DOCUMENT_LIMITS, lint, readMachineYaml, readYaml } from '@krmhub/schema';
import { bytesOf, definition, list, type Parts, PLAIN_SCHEMA } from '../hostile/definition.js';

/** Nothing if it passes, else the error. */
export type Outcome = string | undefined;
export interface Limit {
  name: string;
  limit: number;
  /** The result for a thing of this size. */
  attempt: (size: number) => Outcome | Promise<Outcome>;
  /** The expected error beyond the limit. */
  says: string | RegExp;
}

export const padded = (text: string, bytes: number) =>
  bytesOf(`${text}\n#${'x'.repeat(bytes - text.length - 2)}`);
const spoken = (diagnostics: readonly Diagnostic[], ...codes: string[]): Outcome =>
  diagnostics.find(({ code }) => codes.includes(code))?.code;
const linted = (parts: Parts, ...codes: string[]): Outcome =>
  spoken(lint(bytesOf(JSON.stringify(definition(parts))), { file: 'f' }).diagnostics, ...codes);
const text = (value: string) => ({
  properties: { text: { type: 'string', description: 'x', pattern: value } },
});

export const documents: Limit[] = [
  {
    name: 'maxCatalogBytes',
    limit: DOCUMENT_LIMITS.maxCatalogBytes,
    attempt: (size) =>
      spoken(
        readMachineYaml(padded('a: b', size), { file: 'f' }).diagnostics,
        'yaml/too-large',
        'yaml/syntax',
      ),
    says: 'yaml/too-large',
  },
  {
    name: 'maxSourceBytes',
    limit: DOCUMENT_LIMITS.maxSourceBytes,
    attempt: (size) =>
      spoken(readYaml(padded('a: b', size), { file: 'f' }).diagnostics, 'yaml/too-large', 'yaml/syntax'),
    says: 'yaml/too-large',
  },
  ...(
    [
      ['maxDepth', 'yaml/too-deep', (size) => '['.repeat(size) + ']'.repeat(size)],
      ['maxMappingKeys', 'yaml/too-many-keys', (size) => list(size, (n) => `k${n}: x\n`).join('')],
      [
        'maxAliases',
        'yaml/too-many-aliases',
        (size) => `a: &a x\nb: [${list(size, () => '*a').join(', ')}]\n`,
      ],
      ['maxDocuments', 'yaml/too-many-documents', (size) => list(size, () => '--- x\n').join('')],
      ['maxDiagnostics', 'yaml/too-many-problems', (size) => '- yes\n'.repeat(size)],
    ] as [keyof typeof DOCUMENT_LIMITS, string, (size: number) => string][]
  ).map(
    ([name, code, make]): Limit => ({
      name,
      limit: DOCUMENT_LIMITS[name],
      attempt: (size) => spoken(readYaml(bytesOf(make(size)), { file: 'f' }).diagnostics, code),
      says: code,
    }),
  ),
  {
    name: 'findings of one lint',
    limit: DOCUMENT_LIMITS.maxDiagnostics,
    // A repeated tag is one finding.
    attempt: (size) => linted({ spec: { tags: list(size + 1, () => 'x') } }, 'lint/more'),
    says: 'lint/more',
  },
  {
    name: 'characters of a pattern',
    limit: 1_000,
    attempt: (size) =>
      linted({ schema: { ...PLAIN_SCHEMA, ...text('x'.repeat(size)) } }, 'schema/pattern-cost'),
    says: 'schema/pattern-cost',
  },
  {
    name: 'characters of a text',
    limit: 10_000,
    attempt: (size) =>
      linted({ schema: { ...PLAIN_SCHEMA, description: 'x'.repeat(size) } }, 'text/too-long'),
    says: 'text/too-long',
  },
  {
    name: 'characters of a name',
    limit: 500,
    attempt: (size) =>
      linted(
        { schema: { ...PLAIN_SCHEMA, properties: { ['x'.repeat(size)]: { type: 'string' } } } },
        'text/too-long',
      ),
    says: 'text/too-long',
  },
  {
    name: 'characters of a group',
    limit: 253,
    attempt: (size) => linted({ spec: { group: `${'a'.repeat(size - 4)}.com` } }, 'names/group'),
    says: 'names/group',
  },
  {
    name: 'characters of a kind',
    limit: 63,
    attempt: (size) => linted({ spec: { names: { kind: 'K'.repeat(size) } } }, 'names/kind'),
    says: 'names/kind',
  },
  {
    name: 'characters of an API version',
    limit: 63,
    attempt: (size) => linted({ version: { name: 'v'.repeat(size) } }, 'names/version'),
    says: 'names/version',
  },
  {
    name: 'characters of a tag',
    limit: 50,
    attempt: (size) => linted({ spec: { tags: ['t'.repeat(size)] } }, 'tags/form'),
    says: 'tags/form',
  },
  {
    name: 'characters of a description',
    limit: 200,
    attempt: (size) => linted({ spec: { description: 'd'.repeat(size) } }, 'description/length'),
    says: 'description/length',
  },
];

function recipe(
  source: object = { name: 'registry', functions: {} },
  metadata: object = {},
  more: object[] = [],
  policy?: object,
): string {
  return JSON.stringify({
    apiVersion: 'krmhub.dev/v1alpha1',
    kind: 'CatalogRecipe',
    metadata: { name: 'limits', ...metadata },
    spec: { sources: [source, ...more], policy },
  });
}
const read = (document: string): Outcome => {
  const { diagnostics } = readRecipe(bytesOf(document), 'f');
  return diagnostics.map(({ code, message }) => `${code} ${message}`)[0];
};
const upstream = (catalog: object) =>
  recipe({ name: 'banana', catalog: { url: 'https://example.com/', ...catalog } });
const formatted = (catalog: object) =>
  upstream({ url: 'git::https://example.com/a.git', format: 'krew', ...catalog });
const withPolicy = (policy: object) => recipe(undefined, {}, [], policy);
const matching = (selectors: object[]) => recipe({ name: 'registry', functions: {}, match: selectors });

export const recipes: Limit[] = (
  [
    ['maxBytes', (size) => `${recipe()}${' '.repeat(size - recipe().length)}`],
    [
      'maxSources',
      (size) =>
        recipe(
          undefined,
          {},
          list(size - 1, (n) => ({ name: `s${n}`, functions: {} })),
        ),
    ],
    ['maxSelectors', (size) => matching(list(size, (n) => ({ kind: `K${n}` })))],
    ['maxTags', (size) => matching([{ tags: list(size, (n) => `t${n}`) }])],
    [
      'maxLabels',
      (size) => recipe(undefined, { labels: Object.fromEntries(list(size, (n) => [`l${n}`, 'x'])) }),
    ],
    ['maxValueLength', (size) => matching([{ publisher: 'x'.repeat(size) }])],
    ['maxAddressLength', (size) => upstream({ url: 'https://example.com/'.padEnd(size, 'x') })],
    [
      'maxRewrites',
      (size) => {
        const rewrite = list(size, (n) => ({ from: `a.example/${n}/`, to: 'b.example/' }));
        return recipe({ name: 'registry', functions: {}, rewrite });
      },
    ],
    [
      'maxExamples',
      (size) => {
        const examples = list(size, (n) => `https://example.com/${n}`);
        return recipe({ name: 'banana', catalog: { url: 'https://example.com/' }, defaults: { examples } });
      },
    ],
    [
      'maxGroups',
      (size) => formatted({ groups: Object.fromEntries(list(size, (n) => [`g${n}.example`, 'fn.example'])) }),
    ],
    ['maxPaths', (size) => formatted({ paths: list(size, (n) => `f${n}`) })],
    [
      'maxDescriptionLength',
      (size) => recipe().replace('"spec":{', `"spec":{"description":"${'x'.repeat(size)}",`),
    ],
    ['maxRules', (size) => withPolicy({ deny: list(size, (n) => ({ kind: `K${n}` })) })],
    ['maxRefreshSeconds', (size) => upstream({ refresh: `${size}s` })],
    ['maxMinimumAgeSeconds', (size) => upstream({ minimumAge: `${size}s` })],
  ] as [keyof typeof RECIPE_LIMITS, (size: number) => string][]
).map(([name, make]) => ({
  name,
  limit: RECIPE_LIMITS[name],
  attempt: (size) => read(make(size)),
  says: /^recipe\/limit .*; the limit is \d+$/,
}));

const lockText = (change: (document: Record<string, object[]>) => void): string => {
  const document = lockDocument({ catalogs: [], functions: [] }) as unknown as Record<string, object[]>;
  change(document);
  return JSON.stringify(document);
};
const readLockFile = (document: string): Outcome =>
  readLock(bytesOf(document), 'f').diagnostics.map(({ code, message }) => `${code} ${message}`)[0];
const digest = `sha256:${'a'.repeat(64)}`;
const locked = (fields: object = {}) => ({
  catalog: 'c',
  apiVersion: 'example.com/v1',
  kind: 'K',
  definition: digest,
  container: { image: `example.com/i@${digest}` },
  ...fields,
});

export const locks: Limit[] = (
  [
    ['maxBytes', (size) => lockText(() => undefined).padEnd(size)],
    [
      'maxCatalogs',
      (size) => lockText(({ catalogs }) => catalogs!.push(...list(size, (n) => ({ reference: `c${n}` })))),
    ],
    [
      'maxFunctions',
      (size) =>
        lockText(({ catalogs, functions }) => {
          catalogs!.push({ reference: 'c' });
          functions!.push(...list(size, (n) => locked({ kind: `K${n}` })));
        }),
    ],
    [
      'maxImages',
      (size) =>
        lockText((document) => {
          document.images = list(size, (n) => ({ image: `example.com/i${n}:v1`, digest }));
        }),
    ],
    [
      'maxPlatforms',
      (size) =>
        lockText(({ catalogs, functions }) => {
          catalogs!.push({ reference: 'c' });
          const platforms = Object.fromEntries(list(size, (n) => [`linux/a${n}`, digest]));
          functions!.push(locked({ container: { image: `example.com/i@${digest}`, platforms } }));
        }),
    ],
    ['maxTextLength', (size) => lockText(({ catalogs }) => catalogs!.push({ reference: 'c'.repeat(size) }))],
  ] as [keyof typeof LOCK_LIMITS, (size: number) => string][]
).map(([name, make]) => ({
  name,
  limit: LOCK_LIMITS[name],
  attempt: (size) => readLockFile(make(size)),
  says: /^lock\/limit .*; the limit is \d+$/,
}));
