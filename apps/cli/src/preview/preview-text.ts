import { escapeControls, plural } from '@krmhub/schema/text';
import type { RejectedUpgrade } from '../lock/plan-lock-file.js';
import type { ManifestChange, ManifestIdentity, UnstableManifest } from './manifests.js';
import type { FunctionPreview, PreviewReport, PreviewWarning } from './preview-report.js';
import type { NamedResult } from './results.js';

/** The sentences of a preview, in a terminal and in Markdown. */

/** Returns one line about the manifests. */
export function summary({ isChanged, rejected, manifests, results, failures }: PreviewReport): string {
  if (!isChanged) {
    return rejected.length > 0 ? 'The lock file would not change.' : 'The lock file is up to date.';
  }
  if (failures.before !== undefined && failures.after !== undefined) {
    return 'The package cannot be rendered, neither with the lock as it is nor with the new lock.';
  }
  if (failures.after !== undefined) return 'The package cannot be rendered with the new lock.';
  if (failures.before !== undefined) {
    return 'The package cannot be rendered with the lock as it is, so manifests are not compared.';
  }
  const { changes, before, after, isReordered } = manifests;
  if (before + after === 0) return 'The package renders no manifests.';
  const counts = (['changed', 'added', 'removed'] as const).flatMap((type) => {
    const count = changes.filter((one) => one.type === type).length;
    return count === 0 ? [] : [`${count} ${type}`];
  });
  const all = before + changes.filter(({ type }) => type === 'added').length;
  const total = changes.length === 0 ? 'None' : String(changes.length);
  const resources = [
    `${total} of ${plural(all, 'resource')} ${changes.length > 1 ? 'change' : 'changes'}`,
    ...(changes.every(({ type }) => type === 'changed') ? [] : [`: ${counts.join(', ')}`]),
    ...(isReordered ? [', in another order'] : []),
  ].join('');
  const { appeared, disappeared } = results;
  const counted = [
    ...(appeared.length > 0 ? [plural(appeared.length, 'new result')] : []),
    ...(disappeared.length > 0 ? [`${plural(disappeared.length, 'result')} less`] : []),
  ];
  return `${[resources, ...counted].join('; ')}.`;
}

/** Names and values of what is known about a function before and after. */
export function functionFacts(fn: FunctionPreview): [string, string][] {
  const facts = { permissions: fn.permissions, 'signed by': fn.signedBy, source: fn.builtFrom };
  return Object.entries(facts).flatMap(([name, both]): [string, string][] => {
    if (both === undefined) return [];
    const { before = 'unknown', after = 'unknown' } = both;
    return [
      [name, fn.type !== 'changed' || before === after ? (both.after ?? before) : `${before} → ${after}`],
    ];
  });
}

export function sideText(side: string): string {
  return side === 'before' ? 'lock as it is' : 'new lock';
}

/** Returns the type and the name of a resource. */
export function identityText({ apiVersion, kind, namespace, name }: ManifestIdentity): string {
  const full = namespace === undefined ? name : `${namespace}/${name}`;
  const parts = [apiVersion, kind, full].filter((part) => part !== '');
  return parts.length === 0 ? 'without kind and name' : escapeControls(parts.join(' '));
}

/** What is to say about a resource behind its name: also its command, if several commands give resources. */
export function identityNote(one: ManifestIdentity, all: readonly ManifestIdentity[]): string {
  const notes = [
    ...(one.isLocal === true ? ['not applied'] : []),
    ...(all.some(({ command }) => command !== one.command) ? [`krmhub ${one.command}`] : []),
  ];
  return notes.length === 0 ? '' : ` (${notes.join(', ')})`;
}

/** The lines of a diff, in one line each whatever they contain. */
export function diffLines({ diff, type }: ManifestChange): string[] {
  if (diff.length > 0) return diff.map((line) => escapeControls(line.replaceAll('\t', '    ')));
  return [type === 'changed' ? '(only the notation or comments changed)' : '(empty)'];
}

export function resultText({
  function: name,
  severity,
  message,
  resourceRef,
  field,
  file,
}: NamedResult): string {
  const resource = [resourceRef?.kind, resourceRef?.name].filter((part) => part !== undefined).join(' ');
  const place = [resource, field?.path ?? '', file?.path ?? ''].filter((part) => part !== '').join(' ');
  const level = severity === undefined ? '' : `[${severity}] `;
  return escapeControls(
    `${level}${name}: ${place === '' ? '' : `${place}: `}${message.replace(/\s+/g, ' ')}`,
  );
}

/** Says what a warning is about if only one of the locks has it. */
export function warningText({ text, lock }: PreviewWarning): string {
  return escapeControls(lock === 'both' ? text : `with the ${sideText(lock)}: ${text}`);
}

/** Says that the output of a function cannot be compared. */
export function unstableText(name: string): string {
  return escapeControls(`${name} gives another output for the same input`);
}

/** Says which upgrade is left out, where, and why. */
export function rejectedText({ kind, before, after, place, message }: RejectedUpgrade): string {
  return escapeControls(
    `${kind} stays at ${before}: ${after} rejects its functionConfig, ${place}: ${message}`,
  );
}

/** Says which part of a resource is not compared. */
export function unstableManifest({ fields, ...identity }: UnstableManifest): string {
  const where = fields.length === 0 ? 'not compared' : `not compared: ${fields.join(', ')}`;
  return `${identityText(identity)}: ${escapeControls(where)}`;
}
