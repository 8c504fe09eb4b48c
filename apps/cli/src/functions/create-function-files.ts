import { access } from 'node:fs/promises';
import path from 'node:path';
import { toYamlItem } from '@krmhub/catalog';
import type { RuntimeKind } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import { kebabCase } from '@krmhub/schema/kebab-case';
import { writeFileAtomically } from '../files/write-file.js';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import { visible } from '../io/text.js';
import { parseFunctionReference } from '../registry/function-reference.js';

/** Writes the files of a new function, all of them or none. */
export async function createFunctionFiles(
  io: Io,
  name: string,
  options: { dir?: string; runtime: RuntimeKind },
): Promise<void> {
  const { group, kind, release } = parseFunctionReference(name);
  if (group === undefined || release !== undefined) {
    throw new KrmhubError('usage', `"${name}" is not the name of a function`, {
      hint: 'Name it as GROUP/KIND, such as example.com/SetLabels; the group is a domain of yours.',
    });
  }
  const folder = options.dir ?? kebabCase(kind);
  const files = {
    'definition.yaml': definition(group, kind, options.runtime),
    'README.md': readme(group, kind),
    'example.yaml': example(group, kind),
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
    throw new KrmhubError('conflict', `${present.join(', ')}: there already, and nothing is replaced`, {
      hint: 'Name another folder with --dir.',
    });
  }
  for (const [file, text] of Object.entries(files)) {
    await writeFileAtomically(path.resolve(io.cwd, folder, file), text, { overwrite: false });
    await printLine(io, visible(`wrote ${path.join(folder, file)}`));
  }
  const file = shellWord(path.join(folder, 'definition.yaml'));
  await printLine(io, 'Write what definition.yaml marks with CHANGE, remove the marks, then:');
  await printLine(io, `  krmhub lint ${shellWord(folder)}`);
  await printLine(
    io,
    `  krmhub publish ${file} --release 0.1.0 --readme ${shellWord(path.join(folder, 'README.md'))}`,
  );
}

/** POSIX shell, "Quoting". */
function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Text as YAML reads it back: a group such as 1.5 is no number, and a kind such as Null is something. */
function yamlText(text: string): string {
  return toYamlItem(text, 0).slice('- '.length).trimEnd();
}

/** The folder of a function in the places that its author has to put right. */
function home(group: string, kind: string): string {
  return `https://${group}/functions/${kebabCase(kind)}`;
}

function definition(group: string, kind: string, runtime: RuntimeKind): string {
  const url = home(group, kind);
  return `# What ${kind} is, for people and for the tools that run it. What stands below a CHANGE is a
# placeholder: write your own, and remove the mark. lint tells what is left.
apiVersion: config.kubernetes.io/v1alpha1
kind: KRMFunctionDefinition
spec:
  group: ${yamlText(group)}
  names:
    kind: ${yamlText(kind)}
  # CHANGE: one line that says what the function does to a package.
  description: Add an annotation that says who owns a resource.
  # CHANGE: who publishes the function, and its page.
  publisher: ${yamlText(group)}
  home: ${url}
  tags:
    # mutator, validator or generator, and what people would search for.
    - mutator
  versions:
    # The API version of the functionConfig. Releases of the function are named when it is published.
    - name: v1alpha1
      # true if running it twice gives what running it once gives.
      idempotent: true
      license: Apache-2.0
      # CHANGE: documents of this release, at a tag and not at a branch.
      usage: ${url}/v0.1.0/README.md
      examples:
        - ${url}/v0.1.0/example.yaml
      runtime:
${RUNTIMES[runtime](kind, url)}      # What a functionConfig may hold: an OpenAPI v3 schema, as in a CustomResourceDefinition.
      schema:
        openAPIV3Schema:
          type: object
          description: Who owns what.
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
              description: The team that is asked when something is wrong.
              type: string
              minLength: 1
`;
}

const RUNTIMES: Record<RuntimeKind, (kind: string, url: string) => string> = {
  container: (kind) => `        container:
          # CHANGE: the image, and its digest as \`sha256: <64 hexadecimal digits>\` once it is pushed.
          image: registry.example.com/functions/${kebabCase(kind)}:v0.1.0
          # requireNetwork: true
          # requireStorageMount: true
`,
  exec: (kind, url) => `        exec:
          platforms:
            # CHANGE: one entry for each platform; sha256 is of the downloaded file.
            - bin: ${yamlText(kebabCase(kind))}
              os: linux
              arch: amd64
              uri: ${url}/v0.1.0/${kebabCase(kind)}_linux_amd64.tar.gz
              sha256: "${'0'.repeat(64)}"
`,
  starlark: (_, url) => `        # CHANGE: the script, best as an OCI reference with its digest.
        starlark: ${url}/v0.1.0/main.star
`,
};

function example(group: string, kind: string): string {
  return `apiVersion: ${group}/v1alpha1
kind: ${yamlText(kind)}
metadata:
  name: ${yamlText(kebabCase(kind))}
owner: platform
`;
}

function readme(group: string, kind: string): string {
  return `# ${kind}

What the function does, in a sentence or two.

## Use

\`\`\`yaml
${example(group, kind)}\`\`\`

| field | what it says |
|---|---|
| \`owner\` | The team that is asked when something is wrong. |
`;
}
