/**
 * Reads the few XML documents of the S3 API that krmhub needs. They are flat, so that their elements are found by name;
 * what a value may contain is up to the caller.
 */

/** Returns the text of the first element with this name. */
export function elementText(xml: string, name: string): string | undefined {
  return elementTexts(xml, name)[0];
}

/** Returns the content of each element with this name, with its entities decoded. */
export function elementTexts(xml: string, name: string): string[] {
  const found: string[] = [];
  const open = `<${name}>`;
  const close = `</${name}>`;
  for (let at = xml.indexOf(open); at >= 0; at = xml.indexOf(open, at)) {
    const start = at + open.length;
    const end = xml.indexOf(close, start);
    if (end < 0) break;
    found.push(decoded(xml.slice(start, end)));
    at = end + close.length;
  }
  return found;
}

/** Returns the text for an XML document. */
export function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function decoded(text: string): string {
  // Elements inside keep their markup, and are read from it later.
  if (text.includes('<')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]{2,4}));/g, (all, decimal, hex, name) => {
    if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? ENTITIES[name]! : all;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : all;
  });
}
