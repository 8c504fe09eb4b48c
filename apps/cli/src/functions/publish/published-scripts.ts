import { registryUrl } from '@krmhub/consume/references/registry-url';
import { parseReference, type Reference } from '@krmhub/oci';
import { canonicalRelease, KrmhubError } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';
import type { JsonValue } from '@krmhub/schema/definition';
import { objectField, textField } from '@krmhub/schema/json/access';
import { kebabCase } from '@krmhub/schema/kebab-case';
import type { DocumentFile } from '../../documents/document-files.js';
import type { Io } from '../../io/io.js';
import { type FilledDefinition, fillScripts } from '../../scripts/script-artifact.js';

/** Where the scripts beside definitions go. */
export interface ScriptTarget {
  release?: string;
  registry?: string;
  scriptRepository?: string;
}

/** Fills in the scripts beside a definition: in the registry that gets the definition, or in `--script-repository`. */
export async function publishedScripts(
  io: Io,
  { name, bytes }: DocumentFile,
  options: ScriptTarget,
): Promise<FilledDefinition> {
  return fillScripts(io, name, bytes, (value) => scriptTarget(io, value as JsonValue, options));
}

function scriptTarget(io: Io, value: JsonValue, options: ScriptTarget): Reference {
  const { scriptRepository, registry, release } = options;
  const tag = release === undefined ? undefined : canonicalRelease(release);
  if (scriptRepository !== undefined) {
    if (!/@|:[^/]*$/.test(scriptRepository.replace(/^[^/]*/, ''))) return tagged(scriptRepository, tag);
    throw new KrmhubError('usage', `--script-repository ${scriptRepository} has a tag or a digest`, {
      hint: 'Use HOST/REPOSITORY. The tag is the release.',
    });
  }
  const spec = objectField(value, 'spec');
  const group = textField(spec, 'group') ?? '';
  const kind = textField(objectField(spec, 'names'), 'kind') ?? '';
  const { host } = new URL(registryUrl(io, registry));
  return tagged(`${host}/scripts/${group.toLowerCase()}/${kebabCase(kind)}`, tag);
}

/** Returns the reference of HOST/REPOSITORY; without a tag if the release is not known. */
function tagged(name: string, tag: string | undefined): Reference {
  const { registry, repository } = parseReference(`${name}:${tag ?? 'latest'}`);
  return { registry, repository, ...defined({ tag }) };
}
