import type { DefinedVersions } from '@krmhub/schema/definition';
import { schemaProperties } from '@krmhub/schema/json-schema/open-api';
import { schemaNodes } from '@krmhub/schema/lint/structural/nodes';
import type { ReleaseWords } from '../ports/release-words.js';

/** Limits on the words of a release. What is after them is not found. */
const LIMITS = {
  /** Bytes of the words of a README, and of the names of fields, each with a space. */
  maxBytes: 8_192,
  /** UTF-16 code units. Longer ones are encoded data. */
  maxWordLength: 40,
} as const;

/** What FTS5's unicode61 tokenizer treats as one word, and the marks that it removes. */
export const WORD = /[\p{L}\p{N}\p{Co}\p{M}]+/gu;

/**
 * Words that say nothing about a function. They are searched for in a phrase, about a kind, or if there are no other
 * words.
 */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a an and any are as at be by can do does for from how i if in into is it its me my of on or our that the their
  them this to use using want we what when which with you your`.split(/\s+/),
);

/** A character, or a number, or the start of an address. */
const UNTOLD = /^(?:[\u0000-\u007f]|\p{N}+|https?)$/iu;
/** Fields of every functionConfig. */
const COMMON_FIELDS = new Set(['apiVersion', 'kind', 'metadata']);

/** Returns the words by which search finds a release besides its search document, each once. */
export function releaseWords(definition: DefinedVersions, readme?: Uint8Array): ReleaseWords {
  return {
    fields: bounded(fieldNames(definition)),
    readme: readme === undefined ? '' : bounded(readmeWords(new TextDecoder().decode(readme))),
  };
}

/** Returns the names of fields in the schemas of all API versions. */
function* fieldNames({ versions }: DefinedVersions): Iterable<string> {
  for (const { schema } of versions) {
    for (const node of schemaNodes(schema.openAPIV3Schema, []).nodes) {
      for (const name of Object.keys(schemaProperties(node.schema))) {
        if (node.level === 'root' && COMMON_FIELDS.has(name)) continue;
        yield (name.match(WORD) ?? []).join('-');
      }
    }
  }
}

/** Returns the words of a text in Markdown, without the addresses of its links. */
function* readmeWords(markdown: string): Iterable<string> {
  for (const [chunk] of markdown.matchAll(/\S+/g)) {
    const address = chunk.indexOf('://');
    for (const word of (address === -1 ? chunk : chunk.slice(0, address)).match(WORD) ?? [])
      if (!UNTOLD.test(word) && !STOP_WORDS.has(word.toLowerCase())) yield word;
  }
}

/** Joins the words up to the limit, each once, in any case. */
function bounded(words: Iterable<string>): string {
  const known = new Set<string>();
  const kept: string[] = [];
  let left = LIMITS.maxBytes;
  for (const word of words) {
    const folded = word.toLowerCase();
    if (word === '' || word.length > LIMITS.maxWordLength || known.has(folded)) continue;
    left -= Buffer.byteLength(word) + 1;
    if (left < 0) break;
    known.add(folded);
    kept.push(word);
  }
  return kept.join(' ');
}
