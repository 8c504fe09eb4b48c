import { readTrust, type TrustEntry, toYaml, trustDocument } from '@krmhub/catalog';

/**
 * Changes of a trust file as text, so that comments and the order of whoever edits it by hand stay. A line that begins
 * with `---` ends a document wherever it stands, in a block of text too (YAML 1.2, "9.1.4. Explicit Documents").
 */
const BOUNDARY = /^(?=---(?:[ \t\r\n]|$))/m;
const HEADER = `# Whom this user trusts. \`krmhub trust\` changes this file, and so can an editor.\n`;

/** The text with an entry, in the place of the one of that name or at the end. */
export function withEntry(text: string | undefined, entry: TrustEntry): string {
  const written = `---\n${toYaml(trustDocument(entry))}`;
  const documents = split(text);
  const at = documents.findIndex((document) => nameOf(document) === entry.name);
  if (at >= 0) documents[at] = written;
  else documents.push(written);
  return joined(documents);
}

/** The text without the entry of that name. */
export function withoutEntry(text: string | undefined, name: string): string {
  const left = split(text).filter((document) => nameOf(document) !== name);
  // Without a line, the file would look like one that was cut off.
  return left.length === 0 ? HEADER : joined(left);
}

function split(text: string | undefined): string[] {
  return text === undefined || text === '' ? [HEADER] : text.split(BOUNDARY);
}

function joined(documents: readonly string[]): string {
  return documents.map((document) => (document.endsWith('\n') ? document : `${document}\n`)).join('');
}

function nameOf(document: string): string | undefined {
  const { trust } = readTrust(new TextEncoder().encode(document), 'document');
  return [...(trust?.policies ?? []), ...(trust?.catalogs ?? [])][0]?.name;
}
