/**
 * The commands of the trust file, and verification by it, on a terminal.
 *
 * @module
 */

import {
  isCatalogTrust,
  isTrustedCatalog,
  locateCatalog,
  readTrust,
  type Trust,
  type TrustEntry,
  trustEntries,
} from '@krmhub/catalog';
import { updateTrustStore } from '@krmhub/consume/trust/trust-file';
import { KrmhubError } from '@krmhub/schema';
import { suggest } from '@krmhub/schema/suggest';
import { escapeControls } from '@krmhub/schema/text';
import type { Io } from '../../io/io.js';
import { type OutputFormat, printData, printLine } from '../../io/print.js';
import { diffEntries, entryLines } from './describe-trust.js';
import { createEntries, type EntryOptions } from './new-entry.js';
import { removeEntry, setEntry } from './trust-text.js';

export interface AddOptions extends EntryOptions {
  replace?: boolean;
  output: OutputFormat;
}

/** Adds entries to the trust file. An existing entry changes only with `replace`. */
export async function addTrust(
  io: Io,
  names: readonly string[],
  { replace = false, output, ...options }: AddOptions,
): Promise<void> {
  const entries = await createEntries(io, names, options);
  const lines: string[] = [];
  const added: { outcome: 'added' | 'replaced' | 'unchanged'; entry: TrustEntry }[] = [];
  const { file } = await updateTrustStore(io, ({ file, text, trust }) => {
    let written = text;
    for (const entry of entries) {
      const before = trustEntries(trust).find(({ name }) => name === entry.name);
      const changes = before === undefined ? [] : diffEntries(before, entry);
      if (before !== undefined && changes.length === 0) {
        lines.push(`unchanged: ${entry.name}`);
        added.push({ outcome: 'unchanged', entry });
        continue;
      }
      if (before !== undefined && !replace) throw conflictError(entry.name, changes);
      checkNotPinned(entry, trust);
      written = setEntry(written, entry);
      const outcome = before === undefined ? 'added' : 'replaced';
      added.push({ outcome, entry });
      lines.push(
        `${outcome} ${entry.name}:`,
        ...(before === undefined ? entryLines(entry) : changes).map((line) => `  ${line}`),
      );
    }
    if (written === text || written === undefined) return undefined;
    return checkText(written, file, [
      ...new Set([...trustEntries(trust), ...entries].map(({ name }) => name)),
    ]);
  });
  for (const line of lines) await printLine(io, escapeControls(line));
  await printLine(io, escapeControls(`trust file: ${file}`));
  await printData(io, output, { file, entries: added }, async () => undefined);
}

export async function removeTrust(io: Io, name: string, { output }: { output: OutputFormat }): Promise<void> {
  let removed: TrustEntry | undefined;
  const { file } = await updateTrustStore(io, ({ file, text, trust }) => {
    removed = trustEntries(trust).find((entry) => entry.name === name);
    if (removed === undefined) {
      const meant = suggest(
        name,
        trustEntries(trust).map((entry) => entry.name),
      );
      const list = 'List the entries: krmhub trust list';
      throw new KrmhubError('not-found', escapeControls(`entry ${name} not found in ${file}`), {
        hint: meant === undefined ? list : escapeControls(`Did you mean ${meant}? ${list}`),
      });
    }
    const left = trustEntries(trust).flatMap((entry) => (entry.name === name ? [] : entry.name));
    return checkText(removeEntry(text, name), file, left);
  });
  await printLine(io, escapeControls(`removed ${name}:`));
  for (const line of entryLines(removed!)) await printLine(io, escapeControls(`  ${line}`));
  if (!isTrustedCatalog(removed!) && !isCatalogTrust(removed!)) {
    await printLine(io, '`krmhub pull` no longer verifies artifacts that only this entry covered');
  }
  await printData(io, output, { file, removed }, async () => undefined);
}

/** Returns the text if it parses to the expected entries. Throws for a layout that this command cannot edit safely. */
function checkText(text: string, file: string, expected: readonly string[]): string {
  const { trust } = readTrust(new TextEncoder().encode(text), file);
  const names = trust === undefined ? [] : trustEntries(trust).map(({ name }) => name);
  if (
    trust !== undefined &&
    names.length === expected.length &&
    expected.every((one) => names.includes(one))
  ) {
    return text;
  }
  throw new KrmhubError(
    'invalid-document',
    escapeControls(`cannot edit ${file}: its layout is not supported`),
    {
      hint: 'Edit it with a text editor, then check it: krmhub trust list',
    },
  );
}

function checkNotPinned(entry: TrustEntry, { catalogs }: Trust): void {
  if (!isTrustedCatalog(entry)) return;
  const other = catalogs.find(
    ({ name, url }) =>
      name !== entry.name && locateCatalog(url)?.identity === locateCatalog(entry.url)?.identity,
  );
  if (other === undefined) return;
  throw new KrmhubError('conflict', `cannot pin ${entry.url}: its keys are already pinned as ${other.name}`, {
    hint: `Add every valid key: krmhub trust add ${entry.url} --name ${other.name} --replace --key FILE.pub`,
  });
}

function conflictError(name: string, changes: readonly string[]): KrmhubError {
  const message = [`entry ${name} already exists and differs`, ...changes].join('\n');
  return new KrmhubError('conflict', message, {
    hint: 'Replace it with --replace, or use another name.',
  });
}
