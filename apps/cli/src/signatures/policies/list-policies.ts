import type { PolicySet } from '@krmhub/api/model';
import { describeConditions, describeRequirements } from '@krmhub/catalog';
import { escapeControls, oneLine, plural } from '@krmhub/schema/text';
import { type Io, terminalWidth, write, writeData } from '../../io/io.js';
import { bold, type OutputFormat, printData, printLine, printTable } from '../../io/print.js';
import { wrapText } from '../../io/wrap-text.js';
import { connect } from '../../registry/connection.js';
import { readPolicyText } from './policy-text.js';

export interface ListPoliciesOptions {
  text?: boolean;
  output: OutputFormat;
  registry?: string;
}

type Policy = PolicySet['policies'][number];
type PolicySigner = Policy['signers'][number];

/** Lists the policies in full: what each covers, what it requires, and its signers by name. */
export async function listPolicies(io: Io, options: ListPoliciesOptions): Promise<void> {
  const client = await connect(io, options.registry);
  if (options.text === true) return writeData(io.stdout, await readPolicyText(client));
  const set = await client.policies();
  await printData(io, options.output, set, () =>
    io.stdout.isTTY === true ? printInFull(io, set.policies) : printRows(io, set.policies),
  );
  if (set.policies.length === 0) {
    const none =
      set.text === undefined
        ? 'no signing policies for groups that you may read'
        : 'no signing policies: the registry accepts unsigned releases';
    await printLine(io, none);
  }
}

async function printInFull(io: Io, policies: readonly Policy[]): Promise<void> {
  const blocks = policies.map((policy) =>
    [
      bold(io, oneLine(policy.name)),
      ...policyFacts(policy).flatMap(([label, value]) =>
        wrapText(oneLine(value), terminalWidth(io.stdout) - LABEL_COLUMNS - 2).map(
          (line, at) => `  ${(at === 0 ? label : '').padEnd(LABEL_COLUMNS)}${line}`,
        ),
      ),
    ].join('\n'),
  );
  if (blocks.length > 0) await write(io.stdout, `${blocks.join('\n\n')}\n`);
}

const LABEL_COLUMNS = 10;

function policyFacts(policy: Policy): [string, string][] {
  const { groups, releases, signers, testers = [] } = policy;
  const valid = signers.filter(({ revoked }) => revoked === undefined).length;
  return [
    ...groups.map((group): [string, string] => ['group', group]),
    ['releases', releases ?? 'all'],
    [
      'requires',
      valid === 0
        ? 'a signature, but every signer is revoked: it accepts no release'
        : `a signature by ${valid === 1 ? 'this signer' : `one of ${plural(valid, 'signer')}`}`,
    ],
    ...describeConditions(policy).map((condition): [string, string] => ['', condition]),
    ...signers.map((signer): [string, string] => ['signer', `${signerText(signer)}${validityNote(signer)}`]),
    ...testers.map((signer): [string, string] => ['tester', `${signerText(signer)}${validityNote(signer)}`]),
  ];
}

function validityNote(signer: PolicySigner): string {
  const text = validity(signer);
  return text === 'always' ? '' : `, ${text}`;
}

function printRows(io: Io, policies: readonly Policy[]): Promise<void> {
  const rows = policies.flatMap((policy) => [
    ...policy.signers.map((signer) => ({ policy, signer, note: '' })),
    ...(policy.testers ?? []).map((signer) => ({ policy, signer, note: ', for test reports only' })),
  ]);
  const cells = ({ policy, signer, note }: (typeof rows)[number]): string[] =>
    [
      policy.name,
      policy.groups.join(', '),
      policy.releases ?? 'all',
      `${signerText(signer)}${note}`,
      validity(signer),
    ].map(escapeControls);
  const columns = ['POLICY', 'GROUPS', 'RELEASES', 'SIGNER', 'VALID'].map((header) => ({ header }));
  return printTable(io, columns, rows, { terminal: cells, pipe: cells });
}

function signerText(signer: PolicySigner): string {
  const { fingerprint, issuer, subject, subjectPattern } = signer;
  if (fingerprint !== undefined) return `key ${fingerprint}`;
  const any = subjectPattern === undefined ? 'identities' : `identities that match ${subjectPattern}`;
  const source = describeRequirements(signer);
  return `${subject ?? any} (${issuer})${source === '' ? '' : ` with ${source}`}`;
}

function validity({ revoked, validFrom, validUntil }: PolicySigner): string {
  if (revoked !== undefined) return `revoked: ${revoked}`;
  const parts = [
    ...(validFrom === undefined ? [] : [`from ${validFrom}`]),
    ...(validUntil === undefined ? [] : [`until ${validUntil}`]),
  ];
  return parts.length === 0 ? 'always' : parts.join(' ');
}
