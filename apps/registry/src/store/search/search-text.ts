import { imageRepository } from '@krmhub/catalog';
import { canonicalRelease, type FunctionName, isGroup, isKind } from '@krmhub/schema';
import { defined } from '@krmhub/schema/defined';

/** What the text of a search can name besides words. */
export interface SearchText {
  /** The text to search for words. */
  words: string;
  /** The text is `GROUP/KIND` or `GROUP/KIND@RELEASE`. */
  name?: FunctionName & { release?: string };
  /** The text is an image reference: its OCI repository. */
  repository?: string;
}

/** Reads the text of a search: the name of a function or release, a pasted image reference, or words. */
export function readSearchText(text: string): SearchText {
  const pasted = unquoted(text.trim());
  if (pasted === '' || /\s/.test(pasted)) return { words: text };
  const name = functionName(pasted);
  const repository = looksLikeImage(pasted) ? imageRepository(pasted) : undefined;
  return {
    words: name?.release === undefined ? text : `${name.group}/${name.kind}`,
    ...defined({ name, repository }),
  };
}

/** Removes what is copied with a reference from YAML: its key and quotes. */
function unquoted(text: string): string {
  return text.replace(/^-?\s*image:\s*/, '').replace(/^(["'])(.*)\1$/, '$2');
}

function functionName(text: string): SearchText['name'] {
  const [, group = '', kind = '', wanted] = /^([^/@]+)\/([^/@]+)(?:@([^/@]+))?$/.exec(text) ?? [];
  if (!isGroup(group) || !isKind(kind)) return undefined;
  if (wanted === undefined) return { group, kind };
  const release = canonicalRelease(wanted);
  return release === undefined ? undefined : { group, kind, release };
}

/** Words have no slash, and few texts with a colon are not references. */
function looksLikeImage(text: string): boolean {
  return /[/:@]/.test(text) && text.length <= 500;
}
