import type { FunctionDefinition, JsonObject } from '@krmhub/schema';
import { toYaml } from '../render/to-yaml.js';
import { type ParsedImage, readImage } from '../runtimes/container.js';
import { unsupportedRuntimes } from '../runtimes/runtimes.js';
import {
  omitFunction,
  type ProfileDialect,
  type ReportUnsupported,
  reportRuntime,
  translateDefinition,
} from './profile.js';

/**
 * The profile for Porch: objects that register images as functions, one per image repository, with the tags of the API
 * versions. Porch reads them in its function namespace.
 */
export const porch: ProfileDialect = {
  revision: 1,
  unsupportedFields: [
    { field: 'metadata.labels', message: 'Porch has no catalogs: each function is a separate object' },
    {
      field: 'names.kind',
      message: 'Porch finds a function by its image; group and kind are only in the object name',
    },
    { field: 'description', message: 'Porch does not store metadata of functions' },
    { field: 'publisher', message: 'Porch does not store metadata of functions' },
    { field: 'home', message: 'Porch does not store metadata of functions' },
    { field: 'maintainers', message: 'Porch does not store metadata of functions' },
    { field: 'tags', message: 'Porch does not store metadata of functions' },
    { field: 'versions[].name', message: 'Porch has image tags, but no API versions' },
    { field: 'versions[].schema', message: 'Porch does not validate the functionConfig' },
    { field: 'versions[].idempotent', message: 'Porch does not store metadata of functions' },
    { field: 'versions[].usage', message: 'Porch does not store metadata of functions' },
    { field: 'versions[].examples', message: 'Porch does not store metadata of functions' },
    { field: 'versions[].license', message: 'Porch does not store metadata of functions' },
    { field: 'versions[].configMap', message: 'Porch does not validate the functionConfig' },
  ],
  writer() {
    let first = true;
    let group = '';
    /** Returns the names of objects of this group. */
    const taken = new Set<string>();
    return {
      entry(definition) {
        if (definition.group !== group) taken.clear();
        group = definition.group;
        const { items, unsupported } = translateDefinition(definition, (one, report) =>
          functionConfigs(one, taken, report),
        );
        const texts = items.map((item) => {
          const separator = first ? '' : '---\n';
          first = false;
          return separator + toYaml(item);
        });
        return { text: texts.join(''), written: items.length > 0, unsupported };
      },
      end: () => '',
    };
  },
};

const API_VERSION = 'config.porch.kpt.dev/v1alpha1';
const NAMESPACE = 'porch-fn-system';
/** Maximum length of the name of an object in Kubernetes. */
const MAX_NAME_LENGTH = 253;

function functionConfigs(
  definition: FunctionDefinition,
  taken: Set<string>,
  report: ReportUnsupported,
): JsonObject[] {
  const repositories = new Map<string, { image: ParsedImage; tags: Set<string> }>();
  for (const { name, runtime } of definition.versions) {
    const { container } = runtime;
    const others = unsupportedRuntimes({ runtime }, 'porch');
    const image = container === undefined ? undefined : readImage(container);
    if (container === undefined || image?.tag === undefined) {
      const reason =
        container === undefined
          ? others[0]?.message
          : `Porch requires an image tag, and ${container.image} has none`;
      report({ version: name, message: `omitted: ${reason}` });
      continue;
    }
    const reportField = reportRuntime(report, name);
    if (image.digest !== undefined) {
      reportField(
        'container.sha256',
        `Porch supports only image tags: :${image.tag} is not pinned by digest`,
      );
    }
    if (container.requireNetwork === true) {
      reportField('container.requireNetwork', 'Porch has no field for required network access');
    }
    if (container.requireStorageMount === true) {
      reportField('container.requireStorageMount', 'Porch has no field for required mounted storage');
    }
    for (const { kind, message } of others) reportField(kind, message);
    const key = fullRepository(image);
    const known = repositories.get(key) ?? { image, tags: new Set<string>() };
    known.tags.add(image.tag);
    repositories.set(key, known);
  }
  if (repositories.size === 0) return omitFunction(report);
  const written = [...repositories.values()].flatMap(({ image, tags }) => {
    const name = uniqueName(definition, taken);
    if (name.length > MAX_NAME_LENGTH) {
      const listed = [...tags].join(', ');
      report({
        field: 'versions',
        message: `the object name for ${fullRepository(image)} (${listed}) is too long`,
      });
      return [];
    }
    taken.add(name);
    return {
      apiVersion: API_VERSION,
      kind: 'FunctionConfig',
      metadata: { name, namespace: NAMESPACE },
      spec: { ...splitImage(image), podExecutor: { tags: [...tags] } },
    };
  });
  return written.length === 0 ? omitFunction(report) : written;
}

/** Returns unique object names in lower case. Kinds in a catalog file can differ only in case. */
function uniqueName({ group, names }: FunctionDefinition, taken: ReadonlySet<string>): string {
  const kind = names.kind.toLowerCase();
  for (let count = 1; ; count++) {
    const name = `${kind}${count === 1 ? '' : `-${count}`}.${group}`;
    if (!taken.has(name)) return name;
  }
}

/** Porch adds each prefix to the image. */
function splitImage(image: ParsedImage): { image: string; prefixes: string[] } {
  const path = fullRepository(image);
  const slash = path.lastIndexOf('/');
  return { image: path.slice(slash + 1), prefixes: [path.slice(0, Math.max(slash, 0))] };
}

function fullRepository({ host, repository }: ParsedImage): string {
  return host === undefined ? repository : `${host}/${repository}`;
}
