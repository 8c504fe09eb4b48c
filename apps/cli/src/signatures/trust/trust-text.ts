import { readTrust, type TrustEntry, toYaml, trustDocument, trustEntries } from '@krmhub/catalog';
import { openResourceFile, type ResourceFile } from '@krmhub/schema/edit-yaml';
import { documentRoot, readDocument } from '@krmhub/schema/resource-yaml';

/** Edits a trust file, or the policies of a registry. Comments, order, and notation of all that does not change stay. */
const HEADER = `# Signers that this user trusts. Edit this file, or use \`krmhub trust\`.\n`;

/** Returns the text with an entry, which replaces the one with its name or is appended. */
export function setEntry(text: string | undefined, entry: TrustEntry, header = HEADER): string {
  const file = openResourceFile(text === undefined || text === '' ? header : text, 'the trusted signers');
  const root = documentRoot(readDocument(toYaml(trustDocument(entry)), entry.name)!);
  const [at] = findEntries(file, entry.name);
  if (at === undefined) file.add(root);
  else file.replace(at, root);
  return file.edited().text;
}

/** Returns the text without the entry of that name. */
export function removeEntry(text: string | undefined, name: string, header = HEADER): string {
  const file = openResourceFile(text ?? '', 'the trusted signers');
  for (const at of findEntries(file, name)) file.replace(at, undefined);
  const left = file.edited().text;
  // An empty file would look truncated.
  return left.trim() === '' ? header : left;
}

/** The documents with the entry of that name. */
function findEntries(file: ResourceFile, name: string): number[] {
  return [...file.documents.entries()]
    .filter(([, { text }]) => documentName(text) === name)
    .map(([index]) => index);
}

function documentName(document: string): string | undefined {
  const { trust } = readTrust(new TextEncoder().encode(document), 'document');
  return trust === undefined ? undefined : trustEntries(trust)[0]?.name;
}
