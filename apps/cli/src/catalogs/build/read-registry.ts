import { readExportedFunction } from '@krmhub/api/export-client';
import { type BuildFunction, readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { plural } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import type { Progress } from '../../io/progress.js';
import { connect, connectExport } from '../../registry/connection.js';
import { readPolicyText } from '../../signatures/policies/policy-text.js';
import { parseFunction } from './build-function.js';

/** Downloads every function of the registry, with all definitions. */
export async function readRegistry(
  io: Io,
  registry: string | undefined,
  progress: Progress,
): Promise<BuildFunction[]> {
  const client = await connectExport(io, registry);
  const functions = await readFunctionLines(client.functionLines(), {
    where: client.url,
    hint: 'Check the URL of the registry (--registry).',
    onRead: (count) => progress.tick(() => `reading ${plural(count, 'function')} from ${client.url}`),
  });
  await progress.clear();
  return functions;
}

/** Reads the signing policies of the registry, which a recipe may require. */
export async function readRegistryPolicies(io: Io, registry: string | undefined): Promise<SigningPolicy[]> {
  const client = await connect(io, registry);
  const text = await readPolicyText(client);
  const { policies, diagnostics } = readSigningPolicies(new TextEncoder().encode(text), 'policies.yaml');
  if (policies !== undefined) return policies;
  throw new KrmhubError('unreachable', `cannot read the signing policies of ${client.url}`, {
    diagnostics,
    hint: 'The registry may run a newer version of krmhub. Upgrade krmhub on this machine.',
  });
}

/** Parses functions, one per line. `hint` is for a line that no registry returns. */
export async function readFunctionLines(
  lines: AsyncIterable<Uint8Array>,
  {
    where,
    hint,
    onRead = async () => undefined,
  }: { where: string; hint: string; onRead?: (count: number) => Promise<void> },
): Promise<BuildFunction[]> {
  const functions = new Map<string, BuildFunction>();
  for await (const line of lines) {
    const fn = parseFunction(readExportedFunction(line, where), where, hint);
    functions.set(`${fn.group}/${fn.kind.toLowerCase()}`, fn);
    await onRead(functions.size);
  }
  return [...functions.values()];
}
