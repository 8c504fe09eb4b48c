import path from 'node:path';
import { lintScript } from '@krmhub/functions/starlark/lint-script';
import {
  ARTIFACT_MEDIA_TYPES,
  artifactManifest,
  computeDigest,
  EMPTY_CONFIG,
  EMPTY_DIGEST,
  formatReference,
  MEDIA_TYPES,
  type OciClient,
  parseReference,
  type Reference,
  toContent,
} from '@krmhub/oci';
import { type Diagnostic, hasErrors, KrmhubError, readYaml } from '@krmhub/schema';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';
import type { Progress } from '../io/progress.js';
import { creationTime } from '../upload/creation-time.js';
import { type BuiltManifest, builtManifest, uploadArtifact } from '../upload/upload-artifact.js';
import { type LocalScript, readLocalScripts } from './local-scripts.js';

/** A script that has to be in a registry before its definition is. */
export interface ScriptArtifact {
  script: LocalScript;
  manifest: BuiltManifest;
  reference: Reference;
}

/** A definition whose references are those of registries, and the scripts that they name. */
export interface FilledDefinition {
  bytes: Uint8Array;
  scripts: ScriptArtifact[];
}

/**
 * Replaces the local scripts of a definition by the references that they get in a repository, pinned by digest. Nothing
 * is pushed yet. `target` returns the repository of a definition, with its tag. Throws `invalid-document` for a script
 * with errors, after it printed them.
 */
export async function fillScripts(
  io: Io,
  name: string,
  bytes: Uint8Array,
  target: (value: unknown) => Reference,
): Promise<FilledDefinition> {
  const local = await readLocalScripts(io, name, bytes);
  if (local.length === 0) return { bytes, scripts: [] };
  await refuseErrors(io, local);
  const [document] = readYaml(bytes, { file: name }).documents;
  const { registry, repository, tag } = target(document!.value);
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  const edits: { start: number; end: number; text: string }[] = [];
  const scripts = local.map((script): ScriptArtifact => {
    const manifest = buildManifest(io, script);
    const pinned = formatReference({ registry, repository, digest: manifest.digest });
    const range = document!.locate(script.path)!;
    const start = offsetAt(text, range.start);
    edits.push({ start, end: offsetAt(text, range.end), text: `oci://${pinned}` });
    // Scripts of several API versions are in one repository.
    const named = local.length === 1 && tag !== undefined ? { tag } : { digest: manifest.digest };
    return { script, manifest, reference: { registry, repository, ...named } };
  });
  // From the end, so that offsets stay.
  edits.sort((a, b) => b.start - a.start);
  const filled = edits.reduce(
    (one, edit) => one.slice(0, edit.start) + edit.text + one.slice(edit.end),
    text,
  );
  return { bytes: new TextEncoder().encode(filled), scripts };
}

/** Pushes scripts, and prints their references. A script that is in its repository already stays. */
export async function pushScripts(
  io: Io,
  client: OciClient,
  scripts: readonly ScriptArtifact[],
  progress: Progress,
): Promise<void> {
  for (const { script, manifest, reference } of scripts) {
    const blobs = [
      { digest: EMPTY_DIGEST, content: toContent(EMPTY_CONFIG), isCounted: false },
      { digest: computeDigest(script.bytes), content: toContent(script.bytes), isCounted: true },
    ];
    const { outcome } = await uploadArtifact(client, reference, { blobs, manifests: [manifest] }, progress);
    await progress.clear();
    const verb = outcome === 'unchanged' ? 'unchanged:' : 'pushed';
    const pinned = formatReference({ ...reference, digest: manifest.digest });
    await printLine(io, escapeControls(`${verb} ${script.name} as ${pinned}`));
  }
}

function buildManifest(io: Io, { name, bytes }: LocalScript): BuiltManifest {
  const file = {
    title: path.basename(name),
    mediaType: ARTIFACT_MEDIA_TYPES.starlark.layer,
    digest: computeDigest(bytes),
    size: bytes.byteLength,
  };
  return builtManifest(
    artifactManifest({ type: 'starlark', files: [file], created: creationTime(io), annotations: {} }),
    MEDIA_TYPES.image,
  );
}

async function refuseErrors(io: Io, scripts: readonly LocalScript[]): Promise<void> {
  const found: Diagnostic[] = scripts.flatMap(({ bytes, name }) => lintScript(bytes, name));
  if (!hasErrors(found)) return;
  const errors = found.filter(({ severity }) => severity === 'error');
  const { printDiagnostics } = await import('../io/diagnostics.js');
  await printDiagnostics(io, io.stderr, errors, new Map(scripts.map(({ name, bytes }) => [name, bytes])));
  const [{ file } = { file: '' }] = errors;
  throw new KrmhubError(
    'invalid-document',
    `cannot use the script ${file}: ${plural(errors.length, 'error')}`,
    {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(file)}`,
    },
  );
}

/** Returns the repository of scripts for a definition that is pushed to `reference`: below its own. */
export function scriptRepository({ registry, repository, tag }: Reference): Reference {
  const text = `${registry}/${repository}/script${tag === undefined ? '' : `:${tag}`}`;
  return parseReference(text);
}

function offsetAt(text: string, { line, column }: { line: number; column: number }): number {
  let at = text.startsWith('\ufeff') ? 1 : 0;
  for (let passed = 1; passed < line; passed++) at = text.indexOf('\n', at) + 1;
  return at + column - 1;
}
