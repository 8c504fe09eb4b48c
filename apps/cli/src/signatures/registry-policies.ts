import type { PolicyResult, PolicySet } from '@krmhub/api/model';
import type { TrustChange } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema/error';
import { readFileUpTo, readStdin } from '../files/read-file.js';
import { confirm } from '../io/confirm.js';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { escapeControls, plural } from '../io/text.js';
import { connect } from '../registry/connection.js';

export interface PolicyOptions {
  dryRun?: boolean;
  remove?: boolean;
  /** Do not ask. */
  yes?: boolean;
  text?: boolean;
  output: OutputFormat;
  registry?: string;
}

export async function listPolicies(io: Io, options: PolicyOptions): Promise<void> {
  const set = await (await connect(io, options.registry)).policies();
  if (options.text === true) return write(io.stdout, set.text);
  const rows = set.policies.flatMap((policy) => policy.signers.map((signer) => ({ policy, signer })));
  const cells = ({ policy, signer }: (typeof rows)[number]): string[] => [
    policy.name,
    policy.groups.join(', '),
    policy.releases ?? 'all',
    signerText(signer),
    validity(signer),
  ];
  await printData(io, options.output, set, () =>
    printTable(
      io,
      [
        { header: 'POLICY' },
        { header: 'GROUPS' },
        { header: 'RELEASES' },
        { header: 'SIGNER' },
        { header: 'VALID' },
      ],
      rows,
      { terminal: cells, pipe: cells },
    ),
  );
  if (set.policies.length === 0)
    await printLine(io, 'no signing policies: the registry accepts unsigned releases');
}

type PolicySigner = PolicySet['policies'][number]['signers'][number];

function signerText({ fingerprint, issuer, subject, subjectPattern }: PolicySigner): string {
  return fingerprint === undefined ? `${subject ?? subjectPattern} (${issuer})` : `key ${fingerprint}`;
}

function validity({ revoked, validFrom, validUntil }: PolicySigner): string {
  if (revoked !== undefined) return `revoked: ${revoked}`;
  const parts = [
    ...(validFrom === undefined ? [] : [`from ${validFrom}`]),
    ...(validUntil === undefined ? [] : [`until ${validUntil}`]),
  ];
  return parts.length === 0 ? 'always' : parts.join(' ');
}

export async function applyPolicies(io: Io, file: string, options: PolicyOptions): Promise<void> {
  const { compareTrust, POLICY_LIMITS, readSigningPolicies } = await import('@krmhub/catalog');
  const name = file === '-' ? '<stdin>' : file;
  const bytes =
    file === '-'
      ? await readStdin(io, POLICY_LIMITS.maxBytes)
      : await readFileUpTo(io, file, POLICY_LIMITS.maxBytes);
  const { policies, diagnostics } = readSigningPolicies(bytes, name);
  if (diagnostics.length > 0) {
    const { printDiagnostics } = await import('../io/diagnostics.js');
    await printDiagnostics(io, io.stderr, diagnostics, new Map([[name, bytes]]));
  }
  if (policies === undefined) {
    const errors = diagnostics.filter(({ severity }) => severity === 'error').length;
    throw new KrmhubError('invalid-document', `cannot apply ${name}: ${plural(errors, 'error')}`, {
      hint: `Fix the errors above, then check: krmhub lint ${file}`,
    });
  }
  const client = await connect(io, options.registry);
  const current = await client.policies();
  const stored = readSigningPolicies(new TextEncoder().encode(current.text), 'stored policies').policies;
  if (stored === undefined) await printWarning(io, 'cannot read the current policies for a comparison');
  const trust = compareTrust(stored ?? [], policies);
  await printTrustChanges(io, trust);
  const { dryRun, remove, yes } = options;
  const isAsked = dryRun !== true && yes !== true && file !== '-' && io.stdin.isTTY === true;
  if (isAsked && !(await confirmChanges(io, () => client.applyPolicies(bytes, { dryRun: true, remove })))) {
    throw new KrmhubError('usage', 'cannot apply the policies: not confirmed', {
      hint: 'Nothing was changed. Answer y, or use --yes.',
    });
  }
  const result = await client.applyPolicies(bytes, { dryRun, remove });
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

async function confirmChanges(io: Io, preview: () => Promise<PolicyResult>): Promise<boolean> {
  const result = await preview();
  if (result.outcome === 'unchanged') return true;
  await printChanges(io, result);
  await printLine(io, summary(result));
  return confirm(io, 'Apply these policies?');
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
