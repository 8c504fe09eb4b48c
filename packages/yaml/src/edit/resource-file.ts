import { YamlError } from '../error.js';
import { expandAliases } from '../nodes/expand-aliases.js';
import { fieldAt, fieldNames } from '../nodes/fields.js';
import { documentRoot, type ResourceNode } from '../nodes/node.js';
import { type ResourceDocument, readResources } from '../parse/read-resources.js';
import { type DocumentEdit, type EditedFile, editFile } from './edit-file.js';

/** The documents of a file as trees that can be changed, and the text with these changes. */
export class ResourceFile {
  readonly #text: string;
  readonly #edits: DocumentEdit[];
  readonly #added: ResourceNode[] = [];

  /** Throws `invalid-document`; `name` is the file for the message. */
  constructor(text: string, name: string) {
    this.#text = text;
    this.#edits = readResources(text, name).map((before) => {
      return { before, after: editableRoot(before, name) };
    });
  }

  /** The text of each document with content, and its root; a root that is removed is undefined. */
  get documents(): { text: string; root: ResourceNode | undefined }[] {
    return this.#edits.map(({ before, after }) => ({ text: before.text, root: after }));
  }

  /** Replaces the content of a document. Undefined removes the document. */
  replace(index: number, root: ResourceNode | undefined): void {
    this.#edits[index]!.after = root;
  }

  /** Gives a field of a map another name, in its place. The new field has its comments. */
  rename(index: number, path: readonly (string | number)[], name: string, to: string): void {
    const { before, after } = this.#edits[index]!;
    const [key] = entryIn(after && fieldAt(after, path), name);
    if (key === undefined) return;
    key.value = to;
    // Comments that only moved would be removed with the old field.
    for (const node of entryIn(fieldAt(before.node, path), name)) node.head = node.line = '';
  }

  /** Adds a document below the others. */
  add(root: ResourceNode): void {
    this.#added.push(root);
  }

  /** The bytes of what was not changed stay. */
  edited(): EditedFile {
    const added = this.#added.map((node) => ({ node, seqIndent: 'compact' as const }));
    return editFile({ text: this.#text, documents: this.#edits, added });
  }
}

/** A change of what an alias refers to must not change the place of the alias. */
function editableRoot({ node }: ResourceDocument, name: string): ResourceNode {
  try {
    return expandAliases(documentRoot(node).clone());
  } catch (error) {
    throw error instanceof YamlError ? new YamlError(`cannot read ${name}: ${error.message}`) : error;
  }
}

/** A key and its value; empty if the map has no such key. */
function entryIn(map: ResourceNode | undefined, name: string): ResourceNode[] {
  const at = map === undefined ? -1 : fieldNames(map).indexOf(name);
  return at === -1 ? [] : map!.content.slice(2 * at, 2 * at + 2);
}
