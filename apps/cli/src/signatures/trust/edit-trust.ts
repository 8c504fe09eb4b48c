import {
  canonicalCatalogUrl,
  isTrustedCatalog,
  readTrust,
  type Trust,
  type TrustEntry,
} from '@krmhub/catalog';
import { KrmhubError } from '@krmhub/schema';
import type { Io } from '../../io/io.js';
import { printLine } from '../../io/print.js';
import { visible } from '../../io/text.js';
import { changesBetween, linesOf } from './describe-trust.js';
import { type EntryOptions, newEntries } from './new-entry.js';
import { changeTrustStore } from './trust-file.js';
import { withEntry, withoutEntry } from './trust-text.js';

/** Adds whom to trust; whom a name trusts already changes only where that is said. */
export async function addTrust(
  io: Io,
  names: readonly string[],
  { replace = false, ...options }: EntryOptions & { replace?: boolean },
): Promise<void> {
  const entries = await newEntries(io, names, options);
  const said: string[] = [];
  const { file } = await changeTrustStore(io, ({ file, text, trust }) => {
    let written = text;
    for (const entry of entries) {
      const before = entriesOf(trust).find(({ name }) => name === entry.name);
      const changes = before === undefined ? [] : changesBetween(before, entry);
      if (before !== undefined && changes.length === 0) {
        said.push(`Unchanged: ${entry.name}`);
        continue;
      }
      if (before !== undefined && !replace) throw standsAlready(entry.name, changes);
      refuseSecondPin(entry, trust);
      written = withEntry(written, entry);
      said.push(
        `${before === undefined ? 'Added' : 'Replaced'} ${entry.name}:`,
        ...(before === undefined ? linesOf(entry) : changes).map((line) => `  ${line}`),
      );
    }
    if (written === text || written === undefined) return undefined;
    return checked(written, file, [...new Set([...entriesOf(trust), ...entries].map(({ name }) => name))]);
  });
  for (const line of said) await printLine(io, visible(line));
  await printLine(io, visible(`Whom you trust is in ${file}.`));
}

export async function removeTrust(io: Io, name: string): Promise<void> {
  let removed: TrustEntry | undefined;
  await changeTrustStore(io, ({ file, text, trust }) => {
    removed = entriesOf(trust).find((entry) => entry.name === name);
    if (removed === undefined) {
      throw new KrmhubError('not-found', visible(`nothing in ${file} is named ${name}`), {
        hint: 'See the names with `krmhub trust list`.',
      });
    }
    const left = entriesOf(trust).flatMap((entry) => (entry.name === name ? [] : entry.name));
    return checked(withoutEntry(text, name), file, left);
  });
  await printLine(io, visible(`Removed ${name}, which trusted:`));
  for (const line of linesOf(removed!)) await printLine(io, visible(`  ${line}`));
  if (removed !== undefined && isTrustedCatalog(removed)) return;
  await printLine(io, 'What no other policy covers is pulled from now on without asking who signed it.');
}

export function entriesOf({ policies, catalogs }: Trust): TrustEntry[] {
  return [...policies, ...catalogs];
}

/** A file that is laid out in a way that this does not change safely is for its editor. */
function checked(text: string, file: string, expected: readonly string[]): string {
  const { trust } = readTrust(new TextEncoder().encode(text), file);
  const names = trust === undefined ? [] : entriesOf(trust).map(({ name }) => name);
  if (
    trust !== undefined &&
    names.length === expected.length &&
    expected.every((one) => names.includes(one))
  ) {
    return text;
  }
  throw new KrmhubError(
    'invalid-document',
    visible(`${file} cannot be changed by this command as it is laid out`),
    {
      hint: 'Change it with an editor; `krmhub trust list` then says whether it is sound.',
    },
  );
}

function refuseSecondPin(entry: TrustEntry, { catalogs }: Trust): void {
  if (!isTrustedCatalog(entry)) return;
  const other = catalogs.find(
    ({ name, url }) => name !== entry.name && canonicalCatalogUrl(url) === canonicalCatalogUrl(entry.url),
  );
  if (other === undefined) return;
  throw new KrmhubError('conflict', `the keys of this catalog are pinned already, as ${other.name}`, {
    hint: `Say --name ${other.name} --replace, with every key that it may be signed with.`,
  });
}

function standsAlready(name: string, changes: readonly string[]): KrmhubError {
  const message = [`${name} is there already, and this would change whom it trusts`, ...changes].join('\n');
  return new KrmhubError('conflict', message, {
    hint: 'Where that is meant, say --replace; to keep both, choose another name.',
  });
}
