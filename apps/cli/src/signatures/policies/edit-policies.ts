import { readSigningPolicies, type SigningPolicy } from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { connect } from '../../registry/connection.js';
import { diffEntries, entryLines } from '../trust/describe-trust.js';
import { createPolicy, type EntryOptions } from '../trust/new-entry.js';
import { removeEntry, setEntry } from '../trust/trust-text.js';
import { applyPolicyText, type PolicyOptions } from './apply-policies.js';
import { readPolicyText } from './policy-text.js';

const HEADER = '# Signing policies of this registry. Edit them, or use `krmhub policy`.\n';

/** Adds a policy to those of the registry. An existing policy changes only with `replace`. */
export async function addPolicy(
  io: Io,
  name: string,
  options: PolicyOptions & EntryOptions & { group: string[]; replace?: boolean },
): Promise<void> {
  const policy = (await createPolicy(io, name, options)) as SigningPolicy;
  const client = await connect(io, options.registry);
  const text = await readPolicyText(client);
  const policies = readStored(text);
  const before = policies.find((one) => one.name === policy.name);
  const changes = before === undefined ? entryLines(policy) : diffEntries(before, policy);
  if (before !== undefined && changes.length > 0 && options.replace !== true) {
    throw new KrmhubError(
      'conflict',
      [`policy ${name} already exists and differs`, ...changes].map(escapeControls).join('\n'),
      { hint: 'Replace it with --replace, or use another name.' },
    );
  }
  const edited = before !== undefined && changes.length === 0 ? text : setEntry(text, policy, HEADER);
  checkEdited(edited, [...new Set([...policies.map((one) => one.name), policy.name])]);
  if (edited !== text) {
    await printLine(io, escapeControls(`${before === undefined ? 'adding' : 'replacing'} policy ${name}:`));
    for (const line of changes) await printLine(io, escapeControls(`  ${line}`));
  }
  await applyPolicyText(io, client, { bytes: new TextEncoder().encode(edited), current: text }, options);
}

/** Removes a policy from those of the registry, after it prints who is no longer required or trusted. */
export async function removePolicy(io: Io, name: string, options: PolicyOptions): Promise<void> {
  const client = await connect(io, options.registry);
  const text = await readPolicyText(client);
  const policies = readStored(text);
  const removed = policies.find((one) => one.name === name);
  if (removed === undefined) {
    const near = suggest(
      name,
      policies.map((one) => one.name),
    );
    throw new KrmhubError('not-found', escapeControls(`policy ${name} not found`), {
      hint: near === undefined ? 'List the policies: krmhub policy list' : `Did you mean ${near}?`,
    });
  }
  const edited = removeEntry(text, name, HEADER);
  checkEdited(
    edited,
    policies.flatMap((one) => (one.name === name ? [] : one.name)),
  );
  await printLine(io, escapeControls(`removing policy ${name}:`));
  for (const line of entryLines(removed)) await printLine(io, escapeControls(`  ${line}`));
  await applyPolicyText(
    io,
    client,
    { bytes: new TextEncoder().encode(edited), current: text },
    { ...options, remove: true },
  );
}

function readStored(text: string): SigningPolicy[] {
  const { policies } = readSigningPolicies(new TextEncoder().encode(text), 'stored policies');
  if (policies !== undefined) return policies;
  throw notEditable('this version cannot read the stored policies');
}

/** Throws if the text does not parse to the expected policies: then this command cannot edit its layout. */
function checkEdited(text: string, expected: readonly string[]): void {
  const { policies = [] } = readSigningPolicies(new TextEncoder().encode(text), 'policies');
  const names = policies.map(({ name }) => name);
  if (names.length === expected.length && expected.every((name) => names.includes(name))) return;
  throw notEditable('the layout of the stored policies is not supported');
}

function notEditable(reason: string): KrmhubError {
  return new KrmhubError('invalid-document', `cannot edit the policies: ${reason}`, {
    hint: 'Edit them in a file: krmhub policy list --text > policies.yaml; krmhub policy apply policies.yaml',
  });
}
