/**
 * The tree of a YAML document, with its comments and styles, and what reads and changes it.
 *
 * @module
 */

/** Bits of `ResourceNode.style`. Zero is the plain block style. */
export const STYLE = {
  tagged: 1,
  doubleQuoted: 2,
  singleQuoted: 4,
  literal: 8,
  folded: 16,
  flow: 32,
} as const;

/** The styles of scalars that are text whatever their characters are. */
export const TEXT_STYLES = STYLE.doubleQuoted | STYLE.singleQuoted | STYLE.literal | STYLE.folded;

export type ResourceNodeKind = 'document' | 'map' | 'list' | 'scalar' | 'alias';

const NO_CONTENT: readonly ResourceNode[] = Object.freeze([]);

/**
 * A node of a YAML document with its comments, as go-yaml 3 attaches them. Comments keep their `#`; those of several
 * lines contain line breaks.
 */
export class ResourceNode {
  readonly kind: ResourceNodeKind;
  /** In the short form, such as `!!str`. Empty in nodes that were made by code: the tag follows from the value. */
  tag: string;
  /** Bits of STYLE. */
  style: number;
  /** The text of a scalar without quotes, or the name of an alias. */
  value: string;
  anchor = '';
  /** The node that an alias refers to. */
  target: ResourceNode | undefined = undefined;
  /** Of a map: a key, its value, the next key, and so on. Of a document: its root. */
  content: ResourceNode[];
  /** The lines above. */
  head = '';
  /** The end of the line. */
  line = '';
  /** The lines below, up to an empty line. */
  foot = '';
  /** The line of the text, from 1. Zero in nodes that were made by code. */
  row = 0;
  /**
   * Where it starts in the text of its document, with its anchor, tag, and quotes; -1 in nodes that were made by code. An
   * empty value is behind the colon or dash.
   */
  start = -1;
  /** The offset behind it. A block collection ends with its last child, a block scalar before its last line break. */
  end = -1;

  constructor(kind: ResourceNodeKind, tag: string, style: number, value: string) {
    this.kind = kind;
    this.tag = tag;
    this.style = style;
    this.value = value;
    this.content = kind === 'scalar' || kind === 'alias' ? (NO_CONTENT as ResourceNode[]) : [];
  }

  /** A deep copy. An alias in it refers to the copy of its target, if that is in it too. */
  clone(): ResourceNode {
    return this.copyDeep(new Map());
  }

  private copyDeep(anchored: Map<ResourceNode, ResourceNode>): ResourceNode {
    const copy = this.copy();
    if (this.anchor !== '') anchored.set(this, copy);
    if (this.target !== undefined) copy.target = anchored.get(this.target) ?? this.target;
    for (const child of this.content) copy.content.push(child.copyDeep(anchored));
    return copy;
  }

  /** A copy without its content. */
  copy(): ResourceNode {
    const copy = new ResourceNode(this.kind, this.tag, this.style, this.value);
    copy.anchor = this.anchor;
    copy.target = this.target;
    copy.head = this.head;
    copy.line = this.line;
    copy.foot = this.foot;
    copy.row = this.row;
    copy.start = this.start;
    copy.end = this.end;
    return copy;
  }
}

/** The root of a document, or the node itself. */
export function documentRoot(node: ResourceNode): ResourceNode {
  return node.kind === 'document' ? node.content[0]! : node;
}
