import { access } from 'node:fs/promises';
import path from 'node:path';
import { toYamlItem } from '@krmhub/catalog';
import { runtimeRules } from '@krmhub/catalog/runtimes/runtimes';
import { writeFileAtomically } from '@krmhub/consume/files/write-file';
import { README_PLACEHOLDER } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import { type FunctionName, RUNTIMES, type RuntimeKind } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { isPascalCase, pascalCase } from '@krmhub/schema/gvk';
import { kebabCase } from '@krmhub/schema/kebab-case';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData, printLine } from '../io/print.js';
import { parseFunctionReference } from '../registry/function-reference.js';
import {
  executableFile,
  isProgram,
  type Language,
  type NewProgram,
  newProgram,
  type Platform,
} from './programs/programs.js';

export interface CreateOptions {
  /** Folder; absent for one with the name of the kind. */
  out?: string;
  runtime: RuntimeKind;
  /** Language of a program; absent for none. */
  language?: Language;
  /** Platforms of an exec function. */
  platforms?: readonly Platform[];
  output: OutputFormat;
}

/**
 * Creates the files of a new function. Throws `usage` for options that do not fit its runtime, and `conflict`, and writes
 * nothing, if one of the files exists.
 */
export async function createFunctionFiles(io: Io, name: string, options: CreateOptions): Promise<void> {
  const hint = 'Use GROUP/KIND, for example: krmhub init example.com/SetLabels';
  const { group, kind, release } = parseFunctionReference(name, hint);
  if (group === undefined || release !== undefined) {
    throw new KrmhubError('usage', `"${name}" is not a valid function name`, { hint });
  }
  if (!isPascalCase(kind)) {
    throw new KrmhubError('usage', `the kind ${kind} is not in PascalCase, as kinds of Kubernetes are`, {
      hint: `Use: krmhub init ${shellWord(`${group}/${pascalCase(kind)}`)}`,
    });
  }
  const folder = options.out?.replace(/(?<=.)\/+$/, '') ?? kebabCase(kind);
  const { platforms = [{ os: 'linux', arch: 'amd64' }] } = options;
  const program = createProgram({ group, kind }, folder, { ...options, platforms });
  const files = {
    'definition.yaml': definition(group, kind, { ...options, platforms }),
    'README.md': readme(group, kind),
    'example.yaml': example(group, kind),
    'examples/basic/fn-config.yaml': example(group, kind),
    'examples/basic/input/resources.yaml': resources(),
    'examples/basic/expected/resources.yaml': resources(group),
    ...defined({ 'main.star': options.runtime === 'starlark' ? script(group) : undefined }),
    ...program?.files,
  };
  const present: string[] = [];
  for (const file of Object.keys(files)) {
    const found = await access(path.resolve(io.cwd, folder, file)).then(
      () => true,
      () => false,
    );
    if (found) present.push(path.join(folder, file));
  }
  if (present.length > 0) {
    throw new KrmhubError(
      'conflict',
      `cannot create the function: ${present[0]}${present.length === 1 ? '' : ` and ${plural(present.length - 1, 'other file')}`} already ${present.length === 1 ? 'exists' : 'exist'}`,
      {
        hint: 'Use another folder: --out FOLDER',
      },
    );
  }
  for (const [file, text] of Object.entries(files)) {
    const mode = file.endsWith('.sh') ? 0o755 : undefined;
    await writeFileAtomically(path.resolve(io.cwd, folder, file), text, {
      overwrite: false,
      ...defined({ mode }),
    });
    await printLine(io, escapeControls(`wrote ${path.join(folder, file)}`));
  }
  const needsProgram = program === undefined && isProgram(options.runtime);
  if (needsProgram) {
    const languages = options.runtime === 'exec' ? '--language go' : '--language go, typescript, or python';
    await printLine(io, `wrote no program: with ${languages}, this command writes one`);
  }
  await printLine(io, 'edit the lines marked CHANGE in definition.yaml, remove the marks, then run:');
  for (const step of nextSteps(folder, options.runtime, program)) await printLine(io, `  ${step}`);
  const written = Object.keys(files).map((name) => path.join(folder, name));
  await printData(io, options.output, { group, kind, folder, files: written }, async () => undefined);
}

/** Returns the program of a function in the language of the options. Throws `usage`. */
function createProgram(
  { group, kind }: FunctionName,
  folder: string,
  { runtime, language, platforms }: CreateOptions & { platforms: readonly Platform[] },
): NewProgram | undefined {
  if (language === undefined) return undefined;
  if (!isProgram(runtime)) {
    const { name, noun } = RUNTIMES[runtime];
    throw new KrmhubError('usage', `--language cannot be combined with --runtime ${runtime}`, {
      hint: `A ${name} function is a ${noun}. Remove --language, or use --runtime container.`,
    });
  }
  if (runtime === 'exec' && language !== 'go') {
    throw new KrmhubError('usage', `an exec function in ${language} cannot be built for each platform`, {
      hint: 'Use --language go, or --runtime container.',
    });
  }
  return newProgram({ group, kind, name: kebabCase(kind), runtime, platforms }, language, folder);
}

/** Returns the commands after the edit, for a shell. */
function nextSteps(folder: string, runtime: RuntimeKind, program: NewProgram | undefined): string[] {
  const named = shellWord(folder);
  const readme = shellWord(path.join(folder, 'README.md'));
  const definition = shellWord(path.join(folder, 'definition.yaml'));
  const lint = `krmhub lint ${named}`;
  const publish = `krmhub publish ${definition} --release 0.1.0 --readme ${readme}`;
  if (runtime === 'starlark') return [lint, `krmhub test ${named}`, publish];
  if (program === undefined) {
    return [
      lint,
      `krmhub test ${named} --exec PROGRAM   # the command that runs your program`,
      runtime === 'exec'
        ? `krmhub pin ${named} --files FOLDER   # with the executables that you built`
        : `krmhub pin ${named}   # when you have pushed the image`,
      publish,
      'krmhub docs authoring   # how to build, pin, sign, and publish a release',
    ];
  }
  return [
    lint,
    ...program.build,
    `krmhub test ${named} --exec ${shellWord(program.run)}`,
    'krmhub docs authoring   # how to build, pin, sign, and publish a release',
  ];
}

/** Quotes text for YAML where necessary: a group such as 1.5 or a kind such as Null must stay a string. */
function yamlText(text: string): string {
  return toYamlItem(text, 0).slice('- '.length).trimEnd();
}

/** Returns a placeholder for the home page of a function, which `krmhub lint` finds. */
function home(kind: string): string {
  return `https://example.com/functions/${kebabCase(kind)}`;
}

function definition(
  group: string,
  kind: string,
  { runtime, platforms }: { runtime: RuntimeKind; platforms: readonly Platform[] },
): string {
  const url = home(kind);
  const name = kebabCase(kind);
  const draft = runtimeRules(runtime).draft({
    name,
    url,
    platforms: platforms.map((platform) => ({
      ...platform,
      bin: yamlText(platform.os === 'windows' ? `${name}.exe` : name),
      file: executableFile(name, platform),
    })),
  });
  return `# The definition of ${kind}, for people and tools. Replace the placeholder below each CHANGE, and
# remove the mark. Run \`krmhub lint\` to find the rest.
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: ${yamlText(group)}
  names:
    kind: ${yamlText(kind)}
  # CHANGE: one line about what the function does.
  description: Add an annotation with the owner of a resource.
  # CHANGE: the publisher of the function, and its home page.
  publisher: ${yamlText(group)}
  home: ${url}
  tags:
    # mutator, validator, or generator, and search terms.
    - mutator
  versions:
    # The API version of the functionConfig. You set the release when you publish.
    - name: v1alpha1
      # true if a second run changes nothing.
      idempotent: true
      license: Apache-2.0
      # CHANGE: documents of this release. Link to a tag, not to a branch.
      usage: ${url}/v0.1.0/README.md
      examples:
        - ${url}/v0.1.0/example.yaml
      runtime:
${draft.replace(/^/gm, '        ').trimEnd()}
      # OpenAPI v3 schema of the functionConfig, as in a CustomResourceDefinition.
      schema:
        openAPIV3Schema:
          type: object
          description: The owner of the resources.
          required:
            - owner
          properties:
            apiVersion:
              type: string
            kind:
              type: string
            metadata:
              type: object
            owner:
              description: The team to contact about problems.
              type: string
              minLength: 1
`;
}

function example(group: string, kind: string): string {
  return `apiVersion: ${group}/v1alpha1
kind: ${yamlText(kind)}
metadata:
  name: ${yamlText(kebabCase(kind))}
owner: platform
`;
}

/** The resources of the example; with a group, after the function. */
function resources(group?: string): string {
  const annotations = group === undefined ? '' : `\n  annotations:\n    ${group}/owner: platform`;
  return `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the shop${annotations}
spec:
  replicas: 3
`;
}

function script(group: string): string {
  return `# ctx.resource_list has the resources and the functionConfig. The script changes them in place.

def annotate(resources, owner):
    for resource in resources:
        annotations = resource["metadata"].setdefault("annotations", {})
        annotations["${group}/owner"] = owner

annotate(ctx.resource_list["items"], ctx.resource_list["functionConfig"]["owner"])
`;
}

function readme(group: string, kind: string): string {
  return `# ${kind}

${README_PLACEHOLDER}

## Use

\`\`\`yaml
${example(group, kind)}\`\`\`

| Field | Description |
|---|---|
| \`owner\` | The team to contact about problems. |
`;
}
