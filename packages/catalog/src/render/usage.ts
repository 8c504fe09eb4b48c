import {
  type ConfigExample,
  exampleConfig,
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  kebabCase,
  RUNTIMES,
  type RuntimeKind,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { pinnedImage } from '../runtimes/container.js';
import type { UsagePart } from '../runtimes/runtime.js';
import { eachRuntime } from '../runtimes/runtimes.js';
import { toYaml } from './to-yaml.js';

export { pinnedImage } from '../runtimes/container.js';
export type { UsagePart } from '../runtimes/runtime.js';

/** The topics of sections. A function has each topic at most once. */
export type UsageTopic = 'config' | 'kustomize' | 'kpt' | 'krmhub' | (typeof RUNTIMES)[RuntimeKind]['topic'];

export interface UsageSection {
  topic: UsageTopic;
  parts: UsagePart[];
}

export interface Usage {
  sections: UsageSection[];
  /** How the example functionConfig was generated. */
  example: ConfigExample;
}

/** Where a user finds what belongs to a function. */
export interface UsageAddresses {
  /** URL of the JSON Schema of the functionConfig, for editors. */
  schema?: string | undefined;
  /** URL of a catalog that has this release. Without it, there are no commands of krmhub. */
  catalog?: string | undefined;
}

/** What the sections of one API version share. */
interface Use {
  definition: FunctionDefinition;
  version: FunctionVersion;
  /** File of the functionConfig. */
  file: string;
  /** Absent without a container, or if its reference is not valid. */
  image: string | undefined;
  catalog: string | undefined;
  /** Options of krmhub that permit what the function requires, each after a space. */
  options: string;
}

/** Describes how to use one API version of a function with kustomize, kpt, and krmhub. */
export function functionUsage(
  definition: FunctionDefinition,
  version: FunctionVersion,
  { schema: schemaUrl, catalog }: UsageAddresses = {},
): Usage {
  const { container } = version.runtime;
  const example = exampleConfig(definition, version.name);
  const file = `${configName(definition)}.yaml`;
  const image = container === undefined ? undefined : pinnedImage(container);
  const use: Use = { definition, version, file, image, catalog, options: permissionOptions(version) };
  const tools: UsageSection[] = [
    { topic: 'kustomize', parts: kustomizeParts(use) },
    { topic: 'kpt', parts: kptParts(use) },
    { topic: 'krmhub', parts: krmhubParts(use) },
  ];
  const runtimes = eachRuntime(version.runtime, (rules, declared, kind) => ({
    topic: RUNTIMES[kind].topic,
    parts: rules.usage(declared, file),
  }));
  const sections = [...tools, ...runtimes].filter(({ parts }) => parts.length > 0);
  const config: UsagePart = {
    text: `Save as ${file}, ${EXAMPLE_TEXTS[example.check]}; replace the values:`,
    snippet: exampleConfigText(version, example, schemaUrl),
  };
  return { sections: [{ topic: 'config', parts: [config] }, ...sections], example };
}

/** krmhub uses the first runtime of a function. */
function permissionOptions({ runtime }: FunctionVersion): string {
  const [access] = eachRuntime(runtime, (rules, declared) => rules.access(declared));
  if (access === undefined) return '';
  if (access === 'everything') return ' --allow-exec';
  return `${access.network ? ' --network' : ''}${access.storage ? ' --mount type=bind,source=FOLDER,target=/FOLDER' : ''}`;
}

/** Returns a file name and a resource name. */
function configName({ names }: FunctionDefinition): string {
  const name = kebabCase(names.kind);
  return /^[a-z][-a-z0-9]*$/.test(name) ? name : 'config';
}

/** Returns an example functionConfig as YAML, with the metadata by which kustomize and kpt run the function. */
export function exampleConfigText(
  { runtime: { container } }: FunctionVersion,
  example: ConfigExample,
  schemaUrl?: string,
): string {
  const image = container === undefined ? undefined : pinnedImage(container);
  const program: JsonObject | undefined =
    image === undefined
      ? undefined
      : {
          container: {
            image,
            ...defined({ network: container?.requireNetwork === true ? true : undefined }),
          },
        };
  const { apiVersion, kind, metadata, ...fields } = example.value;
  const config: JsonObject = {
    apiVersion: apiVersion!,
    kind: kind!,
    metadata: {
      ...(metadata as JsonObject),
      annotations: {
        ...((metadata as JsonObject).annotations as JsonObject | undefined),
        ...defined({
          'config.kubernetes.io/function': program === undefined ? undefined : toYaml(program),
        }),
        // In a kpt package, it would be applied to the cluster, which does not know its kind.
        'config.kubernetes.io/local-config': 'true',
      },
    },
    ...fields,
  };
  const comment = schemaUrl === undefined ? '' : `# yaml-language-server: $schema=${schemaUrl}\n`;
  return comment + toYaml(config);
}

const EXAMPLE_TEXTS: Record<ConfigExample['check'], string> = {
  valid: 'a valid example',
  invalid: 'a template, which is not valid until you complete it',
  unchecked: 'a template, not validated with the schema',
};

function kustomizeParts({ definition, version, file, image, catalog, options }: Use): UsagePart[] {
  if (image === undefined && catalog === undefined) return [];
  const tags = definition.tags ?? [];
  const generates = tags.includes('generator') && !tags.includes('mutator') && !tags.includes('transformer');
  const field = generates ? 'generators' : 'transformers';
  const last = tags.includes('validator') ? ' as the last item' : '';
  const parts: UsagePart[] = [
    { text: `Add to kustomization.yaml${last}:`, snippet: toYaml({ [field]: [file] }) },
  ];
  if (image !== undefined) {
    const { requireNetwork, requireStorageMount } = version.runtime.container!;
    const network = requireNetwork === true ? ' --network' : '';
    parts.push({ text: 'Run:', snippet: `kustomize build --enable-alpha-plugins${network} .\n` });
    if (requireStorageMount === true) parts.push(MOUNT_PART);
  }
  if (catalog === undefined) return parts;
  const kind = `${definition.group}/${version.name}/${definition.names.kind}`;
  const install = `krmhub plugins install -c ${catalog} --kind ${kind}${options}\n`;
  const build = `krmhub build . -c ${catalog}${options}\n`;
  return image === undefined
    ? [
        ...parts,
        { text: 'Build with krmhub, which verifies and fetches the function:', snippet: build },
        {
          text: 'Or install the function as a plugin once, and build with kustomize:',
          snippet: `${install}kustomize build --enable-alpha-plugins .\n`,
        },
      ]
    : [
        ...parts,
        {
          text: 'Or remove the annotation config.kubernetes.io/function, and let krmhub find the image in a catalog:',
          snippet: build,
        },
      ];
}

const MOUNT_PART: UsagePart = {
  text: 'It requires mounted files. Add this option with the folders that its usage document names:',
  snippet: '--mount type=bind,src=FOLDER,dst=FOLDER\n',
};

function kptParts({ definition, version, file, image, catalog }: Use): UsagePart[] {
  const tags = definition.tags ?? [];
  const stage = tags.includes('validator') && !tags.includes('mutator') ? 'validators' : 'mutators';
  const pipeline = (fields: JsonObject) => toYaml({ pipeline: { [stage]: [fields] } });
  const sync = `krmhub kpt sync . -c ${catalog}\n`;
  if (image === undefined) {
    if (catalog === undefined) return [];
    return [
      { text: 'Add it to the pipeline in the Kptfile:', snippet: pipeline({ configPath: file }) },
      {
        text: 'Let krmhub set its program, pinned by digest, and run the package:',
        snippet: `${sync}kpt fn render . --allow-exec\n`,
      },
    ];
  }
  const { requireNetwork, requireStorageMount } = version.runtime.container!;
  const network = requireNetwork === true;
  const parts: UsagePart[] = [
    {
      text: 'Run it once on the package in this folder:',
      snippet: `kpt fn eval . --image ${image} --fn-config ${file}${network ? ' --network' : ''}\n`,
    },
  ];
  if (version.configMap === true) {
    parts.push({
      text: 'Or pass the settings as arguments (the function accepts a ConfigMap):',
      snippet: `kpt fn eval . --image ${image}${network ? ' --network' : ''} -- key=value\n`,
    });
  }
  // kpt does not support mounts when it renders a pipeline.
  if (requireStorageMount === true) return [...parts, MOUNT_PART];
  parts.push(
    {
      text: 'Or add it to the pipeline in the Kptfile:',
      snippet: pipeline({ image, configPath: file }),
    },
    { text: 'and run:', snippet: `kpt fn render .${network ? ' --allow-network' : ''}\n` },
  );
  return catalog === undefined
    ? parts
    : [...parts, { text: 'To update the image later, let krmhub set it from a catalog:', snippet: sync }];
}

function krmhubParts({ file, catalog, options }: Use): UsagePart[] {
  if (catalog === undefined) return [];
  return [
    {
      text: 'Show what it changes in the resources of this folder. Without --dry-run, it changes the files:',
      snippet: `krmhub fn eval . -c ${catalog} --fn-config ${file}${options} --dry-run\n`,
    },
  ];
}

/** Describes the permissions of the function. */
export function describePermissions({ runtime }: FunctionVersion): string[] {
  return eachRuntime(runtime, (rules, declared) => rules.permissions(declared));
}
