import type { PolicyResult, PolicySet, Verdict } from '@krmhub/api/model';
import { KrmhubError } from '@krmhub/schema/error';
import { readFileUpTo, readStdin } from '../files/read-file.js';
import { type Io, write } from '../io/io.js';
import { type OutputFormat, printData, printLine, printTable, printWarning } from '../io/print.js';
import { escapeControls, plural } from '../io/text.js';
import { connect } from '../registry/connection.js';

export interface PolicyOptions {
  dryRun?: boolean;
  remove?: boolean;
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
  if (set.policies.length === 0) await printLine(io, 'no signing policies: unsigned releases are accepted');
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
  const { POLICY_LIMITS, readSigningPolicies } = await import('@krmhub/catalog');
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
  const result = await client.applyPolicies(bytes, { dryRun: options.dryRun, remove: options.remove });
  await printData(io, options.output, result, () => printChanges(io, result));
  for (const { name, functions } of result.coverage) {
    if (functions === 0) await printWarning(io, `policy ${name} covers no function of this registry yet`);
  }
  await printLine(io, summary(result));
}

function printChanges(io: Io, { changes }: PolicyResult): Promise<void> {
  if (changes.length === 0) return Promise.resolve();
  const cells = (change: PolicyResult['changes'][number]): string[] => [
    `${change.group}/${change.kind}`,
    change.release,
    change.after.trusted ? 'trusted' : 'not trusted',
    verdictText(change.after),
  ];
  const columns = [
    { header: 'FUNCTION' },
    { header: 'RELEASE' },
    { header: 'VERDICT' },
    { header: 'REASON' },
  ];
  return printTable(io, columns, changes, { terminal: cells, pipe: cells });
}

function verdictText({ trusted, signer, policy, reason }: Verdict): string {
  return trusted ? `signed by ${signer}, policy ${policy}` : (reason ?? '');
}

function summary({ outcome, dryRun, policies, changed }: PolicyResult): string {
  const count = policies === 1 ? '1 policy' : `${policies} policies`;
  if (outcome === 'unchanged') return escapeControls(`unchanged: ${count}`);
  const reach =
    changed === 0
      ? 'no release changes its verdict'
      : `${plural(changed, 'release')} ${changed === 1 ? 'changes its' : 'change their'} verdict`;
  return dryRun ? `${count}; ${reach} (dry run, nothing was changed)` : `applied ${count}; ${reach}`;
}
