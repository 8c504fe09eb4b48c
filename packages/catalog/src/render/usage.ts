import {
  type ConfigExample,
  type ContainerRuntime,
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
export type UsageTopic = 'config' | 'kustomize' | 'kpt' | (typeof RUNTIMES)[RuntimeKind]['topic'];

export interface UsageSection {
  topic: UsageTopic;
  parts: UsagePart[];
}

export interface Usage {
  sections: UsageSection[];
  /** How the example functionConfig was generated. */
  example: ConfigExample;
}

/**
 * Describes how to use one API version of a function with kustomize and kpt. `schemaUrl` is the URL of its JSON Schema
 * for editors. Absent if it is unknown.
 */
export function functionUsage(
  definition: FunctionDefinition,
  version: FunctionVersion,
  schemaUrl: string | undefined,
): Usage {
  const { container } = version.runtime;
  const example = exampleConfig(definition, version.name);
  const file = `${configName(definition)}.yaml`;
  const image = container === undefined ? undefined : pinnedImage(container);
  const sections: UsageSection[] = [configSection(version, { example, schemaUrl, file, image })];
  if (container !== undefined && image !== undefined) {
    sections.push(kustomizeSection(definition, container, file));
    sections.push(kptSection(definition, container, version, image, file));
  }
  const others = eachRuntime(version.runtime, (rules, declared, kind) => ({
    topic: RUNTIMES[kind].topic,
    parts: rules.usage(declared, file),
  }));
  sections.push(...others.filter(({ parts }) => parts.length > 0));
  return { sections, example };
}

/** Returns a file name and a resource name. */
function configName({ names }: FunctionDefinition): string {
  const name = kebabCase(names.kind);
  return /^[a-z][-a-z0-9]*$/.test(name) ? name : 'config';
}

function configSection(
  version: FunctionVersion,
  {
    example,
    schemaUrl,
    file,
    image,
  }: {
    example: ConfigExample;
    schemaUrl: string | undefined;
    file: string;
    image: string | undefined;
  },
): UsageSection {
  const container: JsonObject | undefined =
    image === undefined
      ? undefined
      : {
          container: {
            image,
            ...defined({ network: version.runtime.container?.requireNetwork === true ? true : undefined }),
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
          'config.kubernetes.io/function': container === undefined ? undefined : toYaml(container),
        }),
        // In a kpt package, it would be applied to the cluster, which does not know its kind.
        'config.kubernetes.io/local-config': 'true',
      },
    },
    ...fields,
  };
  return {
    topic: 'config',
    parts: [
      {
        text: `${file}, ${EXAMPLE_TEXTS[example.check]}; replace the values:`,
        snippet: `${schemaUrl === undefined ? '' : `# yaml-language-server: $schema=${schemaUrl}\n`}${toYaml(config)}`,
      },
    ],
  };
}

const EXAMPLE_TEXTS: Record<ConfigExample['check'], string> = {
  valid: 'a valid example',
  invalid: 'a template, which is not valid until you complete it',
  unchecked: 'a template, not validated with the schema',
};

function kustomizeSection(
  definition: FunctionDefinition,
  container: ContainerRuntime,
  file: string,
): UsageSection {
  const tags = definition.tags ?? [];
  const generates = tags.includes('generator') && !tags.includes('mutator') && !tags.includes('transformer');
  const field = generates ? 'generators' : 'transformers';
  const last = tags.includes('validator') ? ' as the last item' : '';
  const network = container.requireNetwork === true ? ' --network' : '';
  const parts: UsagePart[] = [
    { text: `Add to kustomization.yaml${last}:`, snippet: toYaml({ [field]: [file] }) },
    { text: 'Run:', snippet: `kustomize build --enable-alpha-plugins${network} .\n` },
  ];
  if (container.requireStorageMount === true) parts.push({ text: MOUNT_TEXT });
  return { topic: 'kustomize', parts };
}

const MOUNT_TEXT =
  'The function requires mounted files: add --mount type=bind,src=FOLDER,dst=FOLDER. See its usage document.';

function kptSection(
  definition: FunctionDefinition,
  container: ContainerRuntime,
  version: FunctionVersion,
  image: string,
  file: string,
): UsageSection {
  const tags = definition.tags ?? [];
  const stage = tags.includes('validator') && !tags.includes('mutator') ? 'validators' : 'mutators';
  const network = container.requireNetwork === true;
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
  if (container.requireStorageMount === true) {
    // kpt does not support mounts when it renders a pipeline.
    parts.push({ text: MOUNT_TEXT });
  } else {
    parts.push(
      {
        text: 'Or add it to the pipeline in the Kptfile:',
        snippet: toYaml({ pipeline: { [stage]: [{ image, configPath: file }] } }),
      },
      { text: 'and run:', snippet: `kpt fn render .${network ? ' --allow-network' : ''}\n` },
    );
  }
  return { topic: 'kpt', parts };
}

/** Describes the permissions of the function. */
export function describePermissions({ runtime }: FunctionVersion): string[] {
  return eachRuntime(runtime, (rules, declared) => rules.permissions(declared));
}
