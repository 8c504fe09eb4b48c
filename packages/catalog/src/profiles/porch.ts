import type { FunctionDefinition, JsonObject } from '@krmhub/schema';
import { toYaml } from '../render/to-yaml.js';
import { type ParsedImage, parsePinnedImage } from './image.js';
import { omitFunction, type ProfileDialect, type ReportLoss, translateDefinition } from './profile.js';

/**
 * Objects that tell Porch which images are functions and how they are run: one for each repository of images, whose tags
 * are those of the API versions. It reads them in the namespace that it runs functions in.
 */
export const porch: ProfileDialect = {
  revision: 1,
  unsupportedFields: [
    { field: 'metadata.labels', message: 'there is no catalog: each function is an object of its own' },
    {
      field: 'names.kind',
      message: 'Porch finds a function by its image; group and kind are in the name alone',
    },
    { field: 'description', message: 'Porch has no description of functions' },
    { field: 'publisher', message: 'Porch has no description of functions' },
    { field: 'home', message: 'Porch has no description of functions' },
    { field: 'maintainers', message: 'Porch has no description of functions' },
    { field: 'tags', message: 'Porch has no description of functions' },
    { field: 'versions[].name', message: 'Porch knows the tags of images, and no API versions' },
    { field: 'versions[].schema', message: 'Porch checks no function config' },
    { field: 'versions[].idempotent', message: 'Porch has no description of functions' },
    { field: 'versions[].usage', message: 'Porch has no description of functions' },
    { field: 'versions[].examples', message: 'Porch has no description of functions' },
    { field: 'versions[].license', message: 'Porch has no description of functions' },
    { field: 'versions[].configMap', message: 'Porch checks no function config' },
  ],
  writer() {
    let first = true;
    let group = '';
    /** Names of objects of this group. */
    const taken = new Set<string>();
    return {
      entry(definition) {
        if (definition.group !== group) taken.clear();
        group = definition.group;
        const { items, losses } = translateDefinition(definition, (one, lose) =>
          functionConfigs(one, taken, lose),
        );
        const texts = items.map((item) => {
          const separator = first ? '' : '---\n';
          first = false;
          return separator + toYaml(item);
        });
        return { text: texts.join(''), written: items.length > 0, losses };
      },
      end: () => '',
    };
  },
};

const API_VERSION = 'config.porch.kpt.dev/v1alpha1';
const NAMESPACE = 'porch-fn-system';
/** Characters of an object's name in Kubernetes. */
const MAX_NAME_LENGTH = 253;
const NO_EXEC = 'Porch runs only programs in its own image';
const NO_STARLARK = 'Porch runs Starlark with its own function, and downloads no script';

function functionConfigs(definition: FunctionDefinition, taken: Set<string>, lose: ReportLoss): JsonObject[] {
  const repositories = new Map<string, { image: ParsedImage; tags: Set<string> }>();
  for (const { name, runtime } of definition.versions) {
    const { container, exec, starlark } = runtime;
    const image = container === undefined ? undefined : parsePinnedImage(container);
    if (container === undefined || image?.tag === undefined) {
      const reason =
        container === undefined
          ? exec === undefined
            ? NO_STARLARK
            : NO_EXEC
          : `Porch names images by a tag, and ${container.image} has none`;
      lose({ version: name, message: `is left out: ${reason}` });
      continue;
    }
    const loseField = (field: string, message: string) =>
      lose({ version: name, field: `runtime.${field}`, message });
    if (image.digest !== undefined) {
      loseField('container.sha256', `Porch names images by a tag: what :${image.tag} is, is not pinned`);
    }
    if (container.requireNetwork === true) {
      loseField('container.requireNetwork', 'Porch cannot express that it needs the network');
    }
    if (container.requireStorageMount === true) {
      loseField('container.requireStorageMount', 'Porch cannot express that it needs storage');
    }
    if (exec !== undefined) loseField('exec', NO_EXEC);
    if (starlark !== undefined) loseField('starlark', NO_STARLARK);
    const key = fullRepository(image);
    const known = repositories.get(key) ?? { image, tags: new Set<string>() };
    known.tags.add(image.tag);
    repositories.set(key, known);
  }
  if (repositories.size === 0) return omitFunction(lose);
  const written = [...repositories.values()].flatMap(({ image, tags }) => {
    const name = uniqueName(definition, taken);
    if (name.length > MAX_NAME_LENGTH) {
      const listed = [...tags].join(', ');
      lose({
        field: 'versions',
        message: `the object of ${fullRepository(image)} (${listed}) has too long a name`,
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
  return written.length === 0 ? omitFunction(lose) : written;
}

/** Names of objects are lower-case: functions of a registry differ by more, those of any catalog may not. */
function uniqueName({ group, names }: FunctionDefinition, taken: ReadonlySet<string>): string {
  const kind = names.kind.toLowerCase();
  for (let count = 1; ; count++) {
    const name = `${kind}${count === 1 ? '' : `-${count}`}.${group}`;
    if (!taken.has(name)) return name;
  }
}

/** Porch puts each prefix before the image. */
function splitImage(image: ParsedImage): { image: string; prefixes: string[] } {
  const path = fullRepository(image);
  const slash = path.lastIndexOf('/');
  return { image: path.slice(slash + 1), prefixes: [path.slice(0, Math.max(slash, 0))] };
}

function fullRepository({ host, repository }: ParsedImage): string {
  return host === undefined ? repository : `${host}/${repository}`;
}
