import { type EditedFile, editFile } from '../edit/edit-file.js';
import type { JsonValue } from '../json-value.js';
import { fromJson, type ResourceNode, readResources, toJson } from '../resources.js';

/** Edits the documents of a file by changing copies of their trees. */
export function editTrees(text: string, change: (node: ResourceNode, index: number) => void): EditedFile {
  const documents = readResources(text, 'test.yaml').map((before) => {
    const after = before.node.clone();
    change(after, before.index);
    return { before, after };
  });
  return editFile({ text, documents });
}

/** Edits the documents of a file as a function does that reads and writes JSON: comments, styles and aliases are lost. */
export function editValues(text: string, change: (value: never) => unknown): EditedFile {
  const documents = readResources(text, 'test.yaml').map((before) => {
    const value = toJson(before.node);
    return { before, after: fromJson((change(value as never) as JsonValue | undefined) ?? value) };
  });
  return editFile({ text, documents });
}
