import type { Change } from '@krmhub/catalog';
import type { FunctionDefinition } from '@krmhub/schema';
import { KrmhubError } from '@krmhub/schema/error';
import { canonicalRelease } from '@krmhub/schema/release';
import { plural, shellWord } from '@krmhub/schema/text';
import { OCI_SCHEME } from '../documents/document-files.js';
import { FINDINGS } from '../io/exit-code.js';
import type { Io } from '../io/io.js';
import { type OutputFormat, printData } from '../io/print.js';
import { STDIN_NAME } from '../io/read-stdin.js';
import { parseReleaseReference } from '../registry/function-reference.js';

export interface DiffOptions {
  output: OutputFormat;
  registry?: string;
}

/** One side of the comparison: a release of the registry, or a file. */
interface Side {
  group: string;
  kind: string;
  release?: string;
  file?: string;
}

export async function diffDefinitions(
  io: Io,
  before: string,
  after: string,
  options: DiffOptions,
): Promise<void> {
  if (before === '-' && after === '-')
    throw new KrmhubError('usage', 'cannot read stdin twice: "-" is an argument more than once', {
      hint: 'Use "-" only once.',
    });
  const release = isReference(before) ? canonicalRelease(after) : undefined;
  const second = release === undefined ? after : `${before.slice(0, before.indexOf('@'))}@${release}`;
  const old = await load(io, before, options);
  const now = await load(io, second, options);
  const { compareDefinitions, EFFECTS } = await import('@krmhub/catalog');
  const changes = compareDefinitions(old.definition, now.definition);
  const count = (effect: Change['effect']) => changes.filter((change) => change.effect === effect).length;
  const counts = Object.fromEntries(EFFECTS.map((effect) => [effect, count(effect)]));
  const data = {
    before: old.side,
    after: now.side,
    ...counts,
    changes: changes.map(({ at: _, ...change }) => change),
  };
  await printData(io, options.output, data, async () => {
    const { printChanges } = await import('./print-changes.js');
    await printChanges(io, `${sideName(old.side)} → ${sideName(now.side)}`, changes);
  });
  if (count('breaking') > 0) io.exitCode = FINDINGS;
}

/** Matches an argument that is probably the name of a function. */
const FUNCTION = /^[a-z0-9-]+(\.[a-z0-9-]+)+\/[A-Za-z0-9]+$/;

/** Reports whether an argument is a release; other arguments are files or artifacts. */
function isReference(text: string): boolean {
  return text.includes('@') && !/^([./]|oci:\/\/)/.test(text);
}

async function load(
  io: Io,
  text: string,
  options: DiffOptions,
): Promise<{ side: Side; definition: FunctionDefinition }> {
  if (!isReference(text)) return loadFile(io, text, options);
  const named = parseReleaseReference(text);
  const { connect } = await import('../registry/connection.js');
  const client = await connect(io, options.registry);
  const { findReleaseName } = await import('../registry/find-function-name.js');
  const { group, kind, release } = await findReleaseName(client, named);
  const found = await client.release(group, kind, release);
  const side = { group: found.group, kind: found.kind, release: found.release };
  return { side, definition: found.definition };
}

/** A script beside the definition is compared by the reference that a publish gives it. */
async function loadFile(
  io: Io,
  name: string,
  { registry }: DiffOptions,
): Promise<{ side: Side; definition: FunctionDefinition }> {
  const { readDefinitions } = await import('../documents/read-definitions.js');
  const { diagnostics, sources, definitions } = await readDefinitions(io, [name], {
    prepare: async (source) => {
      if (source.name.startsWith(OCI_SCHEME) || source.name === STDIN_NAME) return source;
      const { publishedScripts } = await import('./publish/published-scripts.js');
      const filled = await publishedScripts(io, source, registry === undefined ? {} : { registry });
      return { ...source, bytes: filled.bytes };
    },
  }).catch((error: unknown) => {
    if (!(error instanceof KrmhubError) || error.code !== 'not-found' || !FUNCTION.test(name)) throw error;
    throw new KrmhubError('not-found', error.message, {
      hint: `Add the release (${name}@RELEASE). List the releases: krmhub show ${name}`,
      cause: error,
    });
  });
  const errors = diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0) {
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, errors, sources);
    throw new KrmhubError('invalid-document', `cannot compare ${name}: ${plural(errors.length, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(name)}`,
    });
  }
  const [only] = definitions;
  if (only === undefined || definitions.length > 1) {
    throw new KrmhubError(
      'usage',
      `cannot compare ${name}: it contains ${plural(definitions.length, 'definition')}, expected one`,
      {
        hint: `Split it into files: krmhub convert ${shellWord(name)} --out FOLDER`,
      },
    );
  }
  const { definition, file } = only;
  return { side: { group: definition.group, kind: definition.names.kind, file }, definition };
}

function sideName({ group, kind, release, file }: Side): string {
  return file ?? `${group}/${kind}@${release}`;
}
