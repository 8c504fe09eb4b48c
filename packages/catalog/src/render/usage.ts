import {
  type ConfigExample,
  type ContainerRuntime,
  type ExecRuntime,
  exampleConfig,
  type FunctionDefinition,
  type FunctionVersion,
  type JsonObject,
  kebabCase,
  parseImageReference,
} from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { toYaml } from './to-yaml.js';

/** Text and a snippet to copy. */
export interface UsagePart {
  text: string;
  snippet?: string;
}

/** The topics of sections. A function has each topic at most once. */
export type UsageTopic = 'config' | 'kustomize' | 'kpt' | 'container' | 'executables' | 'starlark';

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
  const { container, exec, starlark } = version.runtime;
  const example = exampleConfig(definition, version.name);
  const file = `${configName(definition)}.yaml`;
  const image = container === undefined ? undefined : pinnedImage(container);
  const sections: UsageSection[] = [configSection(version, { example, schemaUrl, file, image })];
  if (container !== undefined && image !== undefined) {
    sections.push(kustomizeSection(definition, container, file));
    sections.push(kptSection(definition, container, version, image, file));
  } else if (container !== undefined) {
    sections.push({
      topic: 'container',
      parts: [{ text: `Its image is not a valid image reference: ${container.image}` }],
    });
  }
  if (exec !== undefined) sections.push(execSection(exec, file));
  if (starlark !== undefined) {
    sections.push({
      topic: 'starlark',
      parts: [
        {
          text: 'The script, which krmhub fn, krmhub build, and krmhub plugins run:',
          snippet: `${starlark}\n`,
        },
      ],
    });
  }
  return { sections, example };
}

/** Returns a file name and a resource name. */
function configName({ names }: FunctionDefinition): string {
  const name = kebabCase(names.kind);
  return /^[a-z][-a-z0-9]*$/.test(name) ? name : 'config';
}

/**
 * Returns the image by digest if it is known, without the tag, because podman rejects a reference with both. Undefined
 * for invalid references, which must not be in commands.
 */
export function pinnedImage({ image, sha256 }: ContainerRuntime): string | undefined {
  const reference = parseImageReference(image);
  if (!reference.ok) return undefined;
  const digest =
    reference.digest ??
    (sha256 !== undefined && /^[a-f0-9]{64}$/.test(sha256) ? `sha256:${sha256}` : undefined);
  if (digest === undefined) return image;
  return `${reference.host === undefined ? '' : `${reference.host}/`}${reference.repository}@${digest}`;
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

function execSection({ platforms }: ExecRuntime, file: string): UsageSection {
  const parts: UsagePart[] = platforms.map(({ os, arch, bin, uri, sha256 }) => ({
    text: `${os}/${arch}, runs ${bin}:`,
    snippet: sha256 === undefined ? `${uri}\n` : `${uri}\nsha256:${sha256}\n`,
  }));
  const bins = [...new Set(platforms.map(({ bin }) => bin))];
  if (bins.length === 1) {
    parts.push({
      text: 'Verify the digest of the download and unpack it. Then run with kpt:',
      snippet: `kpt fn eval . --exec ${shellQuote(relativeCommand(bins[0]!))} --fn-config ${file}\n`,
    });
  }
  return { topic: 'executables', parts };
}

function relativeCommand(bin: string): string {
  return bin.includes('/') ? bin : `./${bin}`;
}

function shellQuote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Describes the permissions of the function. */
export function describePermissions({ runtime: { container, exec, starlark } }: FunctionVersion): string[] {
  const reach: string[] = [];
  if (container !== undefined) {
    const network = container.requireNetwork === true ? 'requires network access' : 'no network access';
    const storage = container.requireStorageMount === true ? 'requires mounted files' : 'only its input';
    reach.push(`container: ${network}, ${storage}`);
  }
  if (exec !== undefined) reach.push('executable: all permissions of the user');
  if (starlark !== undefined) reach.push('Starlark script: only its input');
  return reach;
}
