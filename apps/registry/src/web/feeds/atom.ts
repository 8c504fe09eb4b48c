import { z } from '@hono/zod-openapi';
import { sha256 } from '@krmhub/schema';
import { cutText, visibleText } from '../visible-text.js';

/** A document of a paged Atom feed (RFC 4287, RFC 5005). */
export interface Feed {
  title: string;
  /** URLs of the feed and of its page; absolute, or a path that is relative to the feed. */
  self: string;
  page: string;
  /** URL of the document with the entries before these; absent in the last one. */
  next?: string | undefined;
  id: string;
  /** RFC 3339; for a feed without entries. */
  updated: string;
  /** Newest first. */
  entries: FeedEntry[];
}

export interface FeedEntry {
  id: string;
  title: string;
  link: string;
  /** RFC 3339. */
  updated: string;
  author: string;
  summary: string;
}

/** Entries before which a document of a feed starts: a position that new entries do not move. */
export const FeedParameters = z.object({
  before: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'is not a position of this feed: follow its link next')
    .transform(Number)
    .optional(),
});

/** Returns the path of a document of a feed. */
export function feedPath(path: string, before: number | undefined): string {
  return before === undefined ? path : `${path}?before=${before}`;
}

export const ATOM_MEDIA_TYPE = 'application/atom+xml; charset=utf-8';
/** Maximum UTF-16 code units of a title, a name or a summary. */
const MAX_TEXT = 1_000;

export function atomFeed({ title, self, page, next, id, updated, entries }: Feed): string {
  return `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <id>${xml(id)}</id>
  <title>${xml(title)}</title>
  <updated>${xml(entries[0]?.updated ?? updated)}</updated>
  <author><name>krmhub</name></author>
  <link rel="self" type="application/atom+xml" href="${xml(self)}"/>
  <link rel="alternate" type="text/html" href="${xml(page)}"/>
${next === undefined ? '' : `  <link rel="next" type="application/atom+xml" href="${xml(next)}"/>\n`}${entries.map(entryText).join('')}</feed>
`;
}

function entryText({ id, title, link, updated, author, summary }: FeedEntry): string {
  return `  <entry>
    <id>${xml(id)}</id>
    <title>${xml(title)}</title>
    <updated>${xml(updated)}</updated>
    <author><name>${xml(author)}</name></author>
    <link rel="alternate" type="text/html" href="${xml(link)}"/>
    <summary>${xml(summary)}</summary>
  </entry>
`;
}

/**
 * Returns an ID that does not depend on the URL of the registry. Equal parts give equal IDs. It is a UUID of version
 * 8 (RFC 9562), made of a hash.
 */
export function permanentId(...parts: readonly string[]): string {
  const hex = sha256(new TextEncoder().encode(JSON.stringify(parts))).slice('sha256:'.length);
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `urn:uuid:${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Escapes text for XML 1.0. Forbidden characters become their visible pictures. */
function xml(text: string): string {
  return visibleText(cutText(text, MAX_TEXT))
    .replace(/[\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"]/g, (character) => ESCAPES[character]!);
}
