import { documentRoot, type ResourceNode } from '@krmhub/schema/resource-yaml';

/** The comments of a model, which its text does not tell: one of several nodes can have them. */
export interface KeptComments {
  /** Whether the model is that of a document, and not of its root. */
  isDocument: boolean;
  /** Nodes of the model. */
  nodes: number;
  /** By the position of their node. */
  comments: readonly (readonly [at: number, head: string, line: string, foot: string])[];
}

/** Returns the comments of a model. */
export function keepComments(model: ResourceNode): KeptComments {
  const comments: KeptComments['comments'][number][] = [];
  let nodes = 0;
  visit(model, (node) => {
    if (node.head !== '' || node.line !== '' || node.foot !== '') {
      comments.push([nodes, copied(node.head), copied(node.line), copied(node.foot)]);
    }
    nodes++;
  });
  return { isDocument: model.kind === 'document', nodes, comments };
}

/** Gives the comments back to a model that was read from the text of the first one. Returns the model. */
export function restoreComments(document: ResourceNode, kept: KeptComments): ResourceNode {
  const model = kept.isDocument ? document : documentRoot(document);
  const found: ResourceNode[] = [];
  visit(model, (node) => found.push(node));
  if (found.length !== kept.nodes) return model;
  for (const node of found) {
    node.head = '';
    node.line = '';
    node.foot = '';
  }
  for (const [at, head, line, foot] of kept.comments) Object.assign(found[at]!, { head, line, foot });
  return model;
}

/** Whether the document or its root has comments of its own. */
export function hasRootComments({ isDocument, comments }: KeptComments): boolean {
  return comments.some(([at]) => at === 0 || (isDocument && at === 1));
}

/** In the order of the text. */
function visit(model: ResourceNode, use: (node: ResourceNode) => void): void {
  const stack = [model];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    use(node);
    for (let at = node.content.length - 1; at >= 0; at--) stack.push(node.content[at]!);
  }
}

/** A part of a text keeps all of the text in memory. */
function copied(text: string): string {
  return text === '' ? '' : Buffer.from(text).toString();
}
