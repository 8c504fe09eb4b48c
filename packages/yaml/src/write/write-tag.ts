const LONG_TAG = 'tag:yaml.org,2002:';

/** A tag in the shortest form that go-yaml 3 writes. */
export function writeTag(tag: string): string {
  const long = tag.startsWith('!!') ? LONG_TAG + tag.slice(2) : tag;
  if (long.startsWith('!')) return `!${escapeTag(long.slice(1))}`;
  if (long.startsWith(LONG_TAG)) return `!!${escapeTag(long.slice(LONG_TAG.length))}`;
  return `!<${escapeTag(long)}>`;
}

function escapeTag(text: string): string {
  return text.replace(/[^-0-9A-Za-z_;/?:@&=+$,.~*'()[\]]/gu, (char) => {
    let escaped = '';
    for (const byte of new TextEncoder().encode(char)) {
      escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    }
    return escaped;
  });
}
