import {
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  RUNTIME_KINDS,
  RUNTIMES,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { isWritable } from '../render/to-yaml.js';
import { readImage } from '../runtimes/container.js';
import {
  omitFunction,
  type ProfileDialect,
  type ReportUnsupported,
  reportRuntime,
  translateDefinition,
} from './profile.js';

/**
 * The profile for the `catalog.json` of kpt function catalogs (krm-functions/catalog): name, digest, description, and
 * documentation, with `type` as in the older list of kpt-functions-catalog. It is JSON, which is also YAML.
 */
export const kptList: ProfileDialect = {
  revision: 1,
  unsupportedFields: [
    { field: 'metadata', message: 'the list has no name and no labels' },
    { field: 'group', message: 'the list has no groups' },
    { field: 'names.kind', message: 'the list has no kinds' },
    { field: 'publisher', message: 'the list has no publisher' },
    { field: 'home', message: 'the list has no home page' },
    { field: 'maintainers', message: 'the list has no maintainers' },
    { field: 'tags', message: 'the list has only `type`, no other tags' },
    { field: 'versions[].name', message: 'the list has no API versions' },
    { field: 'versions[].schema', message: 'the list has no schemas' },
    { field: 'versions[].idempotent', message: 'the list does not have this field' },
    { field: 'versions[].examples', message: 'the list has only `documentation`, no examples' },
    { field: 'versions[].license', message: 'the list has no licenses' },
    { field: 'versions[].configMap', message: 'the list does not have this field' },
  ],
  writer() {
    const start = '{"version":"1","functions":[';
    let empty = true;
    return {
      entry(definition) {
        const { items, unsupported } = translateDefinition(definition, images);
        const texts = items.map((item) => {
          const before = empty ? `${start}\n` : ',\n';
          empty = false;
          return before + yamlSafeJson(item);
        });
        return { text: texts.join(''), written: items.length > 0, unsupported };
      },
      end: () => (empty ? `${start}]}\n` : '\n]}\n'),
    };
  },
};

const TYPES = ['mutator', 'validator', 'generator'];

function images(definition: FunctionDefinition, report: ReportUnsupported): JsonObject[] {
  const { description } = definition;
  const types = TYPES.filter((type) => definition.tags?.some((tag) => tag.toLowerCase() === type));
  const [type] = types;
  const listed = new Map<string, JsonObject>();
  for (const version of definition.versions) {
    const item = listItem(version, report);
    if (item === undefined) continue;
    const { image, documentation, digest } = item;
    const key = `${image} ${digest ?? ''}`;
    if (listed.has(key)) continue;
    listed.set(key, {
      description,
      documentation,
      image,
      ...defined({ digest, type: types.length === 1 ? type! : undefined }),
    });
  }
  if (listed.size === 0) return omitFunction(report);
  if (types.length !== 1) {
    const reason = types.length === 0 ? `no tag of ${TYPES.join(', ')}` : `the tags ${types.join(' and ')}`;
    report({
      field: 'tags',
      message: `the list requires one type per function, and this function has ${reason}`,
    });
  }
  return [...listed.values()];
}

function listItem(
  { name, runtime, usage }: FunctionVersion,
  report: ReportUnsupported,
): { image: string; documentation: string; digest?: string } | undefined {
  const { container } = runtime;
  const others = RUNTIME_KINDS.filter((kind) => kind !== 'container' && runtime[kind] !== undefined);
  const reference = container === undefined ? undefined : readImage(container);
  if (container === undefined || reference === undefined) {
    const reason =
      container === undefined
        ? `its only runtime is ${others[0] && RUNTIMES[others[0]].name}`
        : `${container.image} is not an image reference`;
    report({ version: name, message: `omitted: the list contains only images, and ${reason}` });
    return undefined;
  }
  const reportField = reportRuntime(report, name);
  const { host, repository, tag, digest } = reference;
  const path = host === undefined ? repository : `${host}/${repository}`;
  if (digest === undefined)
    reportField('container.sha256', 'the image has no digest: it is listed with its tag');
  if (digest !== undefined && tag !== undefined) {
    reportField('container.image', `the list has the digest instead of the tag ${tag}`);
  }
  if (container.requireNetwork === true) {
    reportField('container.requireNetwork', 'the list has no field for required network access');
  }
  if (container.requireStorageMount === true) {
    reportField('container.requireStorageMount', 'the list has no field for required mounted storage');
  }
  for (const kind of others) reportField(kind, 'the list contains only images');
  return digest === undefined
    ? { image: container.image, documentation: usage }
    : { image: path, documentation: usage, digest };
}

/** Serializes JSON that YAML parsers also accept. YAML requires more escapes. */
function yamlSafeJson(item: JsonObject): string {
  for (const value of Object.values(item)) {
    if (typeof value === 'string' && !isWritable(value)) {
      throw new TypeError('cannot write a string with an unpaired surrogate');
    }
  }
  return JSON.stringify(item).replace(/[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g, escapeCharacter);
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
