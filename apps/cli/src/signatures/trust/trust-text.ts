import { readTrust, type TrustEntry, toYaml, trustDocument, trustEntries } from '@krmhub/catalog';

/**
 * Edits a trust file, or the policies of a registry, as text, so that comments and order stay. A line that starts with
 * `---` ends a document, also inside a block scalar (YAML 1.2, "9.1.4. Explicit Documents").
 */
const BOUNDARY = /^(?=---(?:[ \t\r\n]|$))/m;
const HEADER = `# Signers that this user trusts. Edit this file, or use \`krmhub trust\`.\n`;

/** Returns the text with an entry, which replaces the one with its name or is appended. */
export function setEntry(text: string | undefined, entry: TrustEntry, header = HEADER): string {
  const written = `---\n${toYaml(trustDocument(entry))}`;
  const documents = splitDocuments(text, header);
  const at = documents.findIndex((document) => documentName(document) === entry.name);
  if (at >= 0) documents[at] = written;
  else documents.push(written);
  return joinDocuments(documents);
}

/** Returns the text without the entry of that name. */
export function removeEntry(text: string | undefined, name: string, header = HEADER): string {
  const left = splitDocuments(text, header).filter((document) => documentName(document) !== name);
  // An empty file would look truncated.
  return left.length === 0 ? header : joinDocuments(left);
}

function splitDocuments(text: string | undefined, header: string): string[] {
  return text === undefined || text === '' ? [header] : text.split(BOUNDARY);
}

function joinDocuments(documents: readonly string[]): string {
  return documents.map((document) => (document.endsWith('\n') ? document : `${document}\n`)).join('');
}

function documentName(document: string): string | undefined {
  const { trust } = readTrust(new TextEncoder().encode(document), 'document');
  return trust === undefined ? undefined : trustEntries(trust)[0]?.name;
}
