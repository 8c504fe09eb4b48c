import type { RegistryClient } from '@krmhub/api/client';
import type { FunctionConsumers } from '@krmhub/api/consumer-model';
import type { FunctionDefinition, FunctionName } from '@krmhub/schema';
import { acceptsField } from '@krmhub/schema/config-fields/used-fields';
import type { Diagnostic } from '@krmhub/schema/diagnostic';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural } from '@krmhub/schema/text';
import type { Submission } from '../documents/read-definitions.js';
import type { Io } from '../io/io.js';
import { printLine } from '../io/print.js';

/** Of a function without a release, of another team, or of a registry that does not count yet. */
const UNKNOWN: ReadonlySet<string> = new Set([
  'not-found',
  'gone',
  'unauthorized',
  'forbidden',
  'method-not-allowed',
]);

/** Counts the packages that use a function; undefined if the registry does not tell this user. */
export async function readConsumers(
  client: RegistryClient,
  { group, kind }: FunctionName,
): Promise<FunctionConsumers | undefined> {
  try {
    return await client.functionConsumers(group, kind);
  } catch (error) {
    if (error instanceof KrmhubError && UNKNOWN.has(error.code)) return undefined;
    throw error;
  }
}

/**
 * Plans releases, and prints how many packages use each function, and would break, as far as their users reported it.
 * Also if the releases are refused because they break users.
 */
export async function withConsumers<Plans>(
  io: Io,
  client: RegistryClient,
  submissions: readonly Submission[],
  plan: () => Promise<Plans>,
): Promise<Plans> {
  const print = async () => {
    for (const submission of submissions) {
      const counts = await readConsumers(client, submission);
      const line = counts && describeConsumers(counts, submission);
      if (line !== undefined) await printLine(io, escapeControls(line));
    }
  };
  try {
    const plans = await plan();
    await print();
    return plans;
  } catch (error) {
    if (error instanceof KrmhubError && error.diagnostics.some(isBreaking)) await print();
    throw error;
  }
}

function isBreaking({ code }: Diagnostic): boolean {
  return code === 'publish/breaking';
}

/** Returns a line that says how many packages use a function, and how many a new definition breaks; none for none. */
export function describeConsumers(
  { packages, releases, fields }: FunctionConsumers,
  { group, kind, release, definition }: FunctionName & { release: string; definition: FunctionDefinition },
): string | undefined {
  if (packages === 0) return undefined;
  const lines = new Map<string, number>();
  const versions = new Map<string, number>();
  for (const { version, release: locked, packages: count } of releases) {
    const line = `${locked.split('.')[0]}.x`;
    lines.set(line, (lines.get(line) ?? 0) + count);
    versions.set(version, (versions.get(version) ?? 0) + count);
  }
  const has = (version: string) => definition.versions.some(({ name }) => name === version);
  const broken = [
    ...[...versions].flatMap(([version, count]) =>
      has(version) ? [] : [`${count} ${count === 1 ? 'uses' : 'use'} the removed API version ${version}`],
    ),
    ...fields.flatMap(({ version, field, packages: count }) =>
      !has(version) || acceptsField(definition, version, field)
        ? []
        : [`${count} ${count === 1 ? 'uses' : 'use'} the removed field ${field} of ${version}`],
    ),
  ];
  const pins = [...lines].map(([line, count]) => `${line}: ${count}`).join(', ');
  const locks = packages === 1 ? 'locks' : 'lock';
  return [
    `${group}/${kind}@${release}: ${plural(packages, 'package')} ${locks} the function (${pins})`,
    ...broken,
  ].join('; ');
}
