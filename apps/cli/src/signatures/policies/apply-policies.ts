/**
 * Lists and changes the signing policies of a registry.
 *
 * A change first prints who becomes trusted and who no longer is.
 *
 * @module
 */

import { Readable } from 'node:stream';
import type { RegistryClient } from '@krmhub/api/client';
import type { PolicyResult } from '@krmhub/api/model';
import type { TrustChange } from '@krmhub/catalog';
import { readFileUpTo } from '@krmhub/consume/files/read-file';
import { sha256 } from '@krmhub/schema/digest';
import { KrmhubError } from '@krmhub/schema/error';
import { escapeControls, plural, shellWord } from '@krmhub/schema/text';
import { requireConfirmation } from '../../io/confirm.js';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../../io/print.js';
import { readStdin } from '../../io/read-stdin.js';
import { connect } from '../../registry/connection.js';
import { readPolicyText } from './policy-text.js';

export interface PolicyOptions {
  dryRun?: boolean;
  remove?: boolean;
  /** Do not ask. */
  yes?: boolean;
  output: OutputFormat;
  registry?: string;
}

export async function applyPolicies(io: Io, file: string, options: PolicyOptions): Promise<void> {
  const { POLICY_LIMITS, readSigningPolicies } = await import('@krmhub/catalog');
  const name = file === '-' ? '<stdin>' : file;
  const bytes =
    file === '-'
      ? await readStdin(io, POLICY_LIMITS.maxBytes)
      : await readFileUpTo(io, file, POLICY_LIMITS.maxBytes);
  const { policies, diagnostics } = readSigningPolicies(bytes, name);
  if (diagnostics.length > 0) {
    const { printDiagnostics } = await import('../../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, diagnostics, new Map([[name, bytes]]));
  }
  if (policies === undefined) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
    throw new KrmhubError('invalid-document', `cannot apply ${name}: ${plural(errors, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${shellWord(file)}`,
    });
  }
  const client = await connect(io, options.registry);
  const current = await readPolicyText(client);
  await applyPolicyText(io, client, { bytes, current }, { ...options, isStdin: file === '-' });
}

/**
 * Replaces the text of all policies, `current`, after it prints who becomes trusted and who no longer is, and asks.
 * Without a terminal, it requires `yes`.
 */
export async function applyPolicyText(
  io: Io,
  client: RegistryClient,
  { bytes, current }: { bytes: Uint8Array; current: string },
  { isStdin = false, ...options }: PolicyOptions & { isStdin?: boolean },
): Promise<void> {
  const { compareTrust, readSigningPolicies } = await import('@krmhub/catalog');
  const encoded = new TextEncoder().encode(current);
  const stored = readSigningPolicies(encoded, 'stored policies').policies;
  if (stored === undefined) await printWarning(io, 'cannot read the current policies for a comparison');
  const { policies = [] } = readSigningPolicies(bytes, 'policies');
  const trust = compareTrust(stored ?? [], policies);
  await printTrustChanges(io, trust);
  const { dryRun, remove, yes } = options;
  const replaces = sha256(encoded);
  const isAsked = dryRun !== true && yes !== true;
  if (isAsked) {
    // Stdin has ended after the policies were read from it.
    const asked = { ...io, stdin: isStdin ? Readable.from([]) : io.stdin };
    await requireConfirmation(asked, 'apply the policies', 'Apply these policies?', async () => {
      const planned = await client.applyPolicies(bytes, { dryRun: true, remove, replaces });
      if (planned.outcome === 'unchanged') return false;
      await printChanges(io, planned);
      await printLine(io, summary(planned));
      return true;
    });
  }
  const result = await client.applyPolicies(bytes, { dryRun, remove, replaces });
  await printData(io, options.output, { ...result, trust }, async () => {
    if (!isAsked) await printChanges(io, result);
  });
  for (const { name, functions } of result.coverage) {
    if (functions === 0) await printWarning(io, `policy ${name} covers no function in this registry yet`);
  }
  await printLine(io, summary(result));
}

/** Prints on stderr, for each group, who becomes trusted and who no longer is. */
async function printTrustChanges(io: Io, changes: readonly TrustChange[]): Promise<void> {
  const signatures = {
    needed: ': releases now require a signature',
    'not needed': ': releases no longer require a signature',
  };
  for (const { group, signatures: needed, trusted, distrusted } of changes) {
    await printLine(io, escapeControls(`group ${group}${needed === undefined ? '' : signatures[needed]}`));
    for (const signer of trusted) await printLine(io, escapeControls(`  now trusted: ${signer}`));
    for (const signer of distrusted) await printLine(io, escapeControls(`  no longer trusted: ${signer}`));
  }
}

function printChanges(io: Io, { changes }: PolicyResult): Promise<void> {
  if (changes.length === 0) return Promise.resolve();
  const cells = (change: PolicyResult['changes'][number]): string[] => [
    `${change.group}/${change.kind}`,
    change.release,
    change.after.trusted ? 'trusted' : 'not trusted',
    change.after.text,
  ];
  const columns = [
    { header: 'FUNCTION' },
    { header: 'RELEASE' },
    { header: 'VERDICT' },
    { header: 'REASON' },
  ];
  return printTable(io, columns, changes, { terminal: cells, pipe: cells });
}

function summary({ outcome, dryRun, policies, changed }: PolicyResult): string {
  const count = policies === 1 ? '1 policy' : `${policies} policies`;
  if (outcome === 'unchanged') return escapeControls(`unchanged: ${count}`);
  const reach =
    changed === 0
      ? 'no verdicts change'
      : `${plural(changed, 'release')} ${changed === 1 ? 'changes its' : 'change their'} verdict`;
  return dryRun ? `${count}; ${reach} (dry run, nothing was changed)` : `applied ${count}; ${reach}`;
}
