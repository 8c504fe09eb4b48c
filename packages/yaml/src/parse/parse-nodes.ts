import { ResourceNode, STYLE } from '../nodes/node.js';
import { AliasSizes } from './alias-sizes.js';
import { CommentedTokens } from './commented-tokens.js';
import { scalarNode, shortTag } from './resolve-tag.js';
import { TOKEN, type Token } from './tokens.js';

/** Builds nodes from tokens, and attaches comments to them. */
export class NodeParser extends CommentedTokens {
  private readonly anchors = new Map<string, ResourceNode>();
  private readonly aliasSizes = new AliasSizes();
  /** Open lists and maps. */
  private depth = 0;
  protected readonly handles = new Map<string, string>();

  protected startDocument(): void {
    this.anchors.clear();
    this.aliasSizes.clear();
    this.handles.clear();
  }

  protected node(block: boolean, indentless: boolean): ResourceNode {
    let token = this.peek();
    const { row, start } = token;
    if (token.type === TOKEN.alias) return this.alias(token);
    const { depth } = this;
    let anchor = '';
    let tag = '';
    for (let parts = 0; parts < 2; parts++) {
      if (token.type === TOKEN.anchor && anchor === '') anchor = token.value;
      else if (token.type === TOKEN.tag && tag === '') tag = this.tagOf(token);
      else break;
      this.take();
      token = this.peek();
    }
    if (token.type === TOKEN.scalar) {
      const scalar = scalarNode(token, tag, row);
      scalar.start = start;
      scalar.end = token.end;
      this.anchor(scalar, anchor);
      this.takeComments(scalar);
      this.take();
      return scalar;
    }
    let node: ResourceNode;
    if (
      (indentless && token.type === TOKEN.blockEntry) ||
      (block && token.type === TOKEN.blockSequenceStart)
    ) {
      node = this.collection('list', tag, anchor, row, 0);
      if (token.type === TOKEN.blockEntry) this.indentlessSequence(node);
      else {
        this.takeStem(node);
        this.blockSequence(node);
      }
    } else if (block && token.type === TOKEN.blockMappingStart) {
      node = this.collection('map', tag, anchor, row, 0);
      this.takeStem(node);
      this.blockMapping(node);
    } else if (token.type === TOKEN.flowSequenceStart) {
      node = this.collection('list', tag, anchor, row, STYLE.flow);
      this.takeComments(node);
      this.flowSequence(node);
    } else if (token.type === TOKEN.flowMappingStart) {
      node = this.collection('map', tag, anchor, row, STYLE.flow);
      this.takeComments(node);
      this.flowMapping(node);
    } else if (anchor !== '' || tag !== '') {
      node = new ResourceNode('scalar', tag === '' || tag === '!' ? '!!null' : shortTag(tag), 0, '');
      if (tag !== '' && tag !== '!') node.style = STYLE.tagged;
      node.row = row + 1;
      this.anchor(node, anchor);
    } else this.fail('did not find expected node content', token);
    node.start = start;
    node.end = this.lastEnd;
    this.depth = depth;
    return node;
  }

  private alias(token: Token): ResourceNode {
    const alias = new ResourceNode('alias', '', 0, token.value);
    alias.row = token.row + 1;
    alias.start = token.start;
    alias.end = token.end;
    alias.target = this.anchors.get(token.value);
    if (alias.target !== undefined) {
      const { maxAliases } = this.options.limits;
      if (this.aliasSizes.add(alias.target) > maxAliases) {
        const reason = `the aliases of this document expand to more than ${maxAliases} values`;
        this.fail(reason, token, 'too-many-aliases');
      }
    } else if (this.options.strict === undefined) {
      this.fail(`unknown anchor '${token.value}' referenced`, token);
    }
    this.takeComments(alias);
    this.take();
    return alias;
  }

  /** A value that is not there: behind the last token. */
  protected emptyScalar(token: Token): ResourceNode {
    const node = new ResourceNode('scalar', '!!null', 0, '');
    node.row = token.row + 1;
    node.start = this.lastEnd;
    node.end = this.lastEnd;
    return node;
  }

  private tagOf(token: Token): string {
    if (token.value === '') return token.suffix;
    const prefix = this.handles.get(token.value);
    if (prefix === undefined) {
      if (this.options.strict === undefined) this.fail('found undefined tag handle', token);
      return token.value + token.suffix;
    }
    return prefix + token.suffix;
  }

  private collection(
    kind: 'map' | 'list',
    tag: string,
    anchor: string,
    row: number,
    style: number,
  ): ResourceNode {
    const { maxDepth } = this.options.limits;
    if (++this.depth > maxDepth) {
      this.fail(`more than ${maxDepth} nested lists and mappings`, this.peek(), 'too-deep');
    }
    const tagged = tag !== '' && tag !== '!';
    const node = new ResourceNode(
      kind,
      tagged ? shortTag(tag) : kind === 'map' ? '!!map' : '!!seq',
      tagged ? style | STYLE.tagged : style,
      '',
    );
    node.row = row + 1;
    this.anchor(node, anchor);
    return node;
  }

  private anchor(node: ResourceNode, anchor: string): void {
    if (anchor === '') return;
    node.anchor = anchor;
    this.anchors.set(anchor, node);
  }

  private takeStem(node: ResourceNode): void {
    node.head = this.stem;
    this.stem = '';
  }

  /** The comment above a dash belongs to the item as a whole if the item is a collection. */
  private splitStem(length: number): void {
    if (length === 0) return;
    const { type } = this.peek();
    if (type !== TOKEN.blockSequenceStart && type !== TOKEN.blockMappingStart) return;
    this.stem = this.head.slice(0, length);
    this.head = this.head.length === length ? '' : this.head.slice(length + 1);
  }

  private blockSequence(list: ResourceNode): void {
    this.take();
    for (;;) {
      let token = this.peek();
      if (token.type !== TOKEN.blockEntry) {
        if (token.type !== TOKEN.blockEnd) this.fail("did not find expected '-' indicator", token);
        this.take();
        return;
      }
      const { length } = this.head;
      this.take();
      this.splitStem(length);
      const dash = token;
      token = this.peek();
      list.content.push(
        token.type === TOKEN.blockEntry || token.type === TOKEN.blockEnd
          ? this.emptyScalar(dash)
          : this.node(true, false),
      );
    }
  }

  private indentlessSequence(list: ResourceNode): void {
    for (;;) {
      let token = this.peek();
      if (token.type !== TOKEN.blockEntry) return;
      const { length } = this.head;
      this.take();
      this.splitStem(length);
      const dash = token;
      token = this.peek();
      list.content.push(
        token.type === TOKEN.blockEntry ||
          token.type === TOKEN.key ||
          token.type === TOKEN.value ||
          token.type === TOKEN.blockEnd
          ? this.emptyScalar(dash)
          : this.node(true, false),
      );
    }
  }

  private blockMapping(map: ResourceNode): void {
    const { content } = map;
    this.take();
    for (;;) {
      let token = this.peek();
      if (token.type === TOKEN.blockEnd) break;
      if (token.type !== TOKEN.key) this.fail('did not find expected key', token);
      this.take();
      const key = isEmptyEntry(this.peek()) ? this.emptyScalar(token) : this.node(true, true);
      content.push(key);
      this.countKeys(map, token);
      // A comment below the preceding value that is as far left as the keys.
      if (key.foot !== '' && content.length > 2) {
        content[content.length - 3]!.foot = key.foot;
        key.foot = '';
      }
      token = this.peek();
      let value: ResourceNode;
      if (token.type === TOKEN.value) {
        this.take();
        value = isEmptyEntry(this.peek()) ? this.emptyScalar(token) : this.node(true, true);
      } else value = this.emptyScalar(token);
      content.push(value);
      moveFoot(key, value);
    }
    this.endCollection(map);
    if (map.foot !== '' && content.length > 1) {
      content[content.length - 2]!.foot = map.foot;
      map.foot = '';
    }
  }

  private countKeys({ content }: ResourceNode, token: Token): void {
    const { maxMappingKeys } = this.options.limits;
    if (content.length <= maxMappingKeys * 2) return;
    this.fail(`a mapping has more than ${maxMappingKeys} keys`, token, 'too-many-keys');
  }

  private endCollection(node: ResourceNode): void {
    const { head } = node;
    this.takeComments(node);
    node.head = head;
    this.take();
  }

  private flowSequence(list: ResourceNode): void {
    const outer = this.open();
    for (let first = true; ; first = false) {
      let token = this.peek();
      if (token.type === TOKEN.flowSequenceEnd) break;
      if (!first) {
        if (token.type !== TOKEN.flowEntry) this.fail("did not find expected ',' or ']'", token);
        this.take();
        token = this.peek();
      }
      if (token.type === TOKEN.flowSequenceEnd) break;
      list.content.push(token.type === TOKEN.key ? this.flowPair(token) : this.node(false, false));
    }
    this.opened = outer;
    this.endCollection(list);
  }

  /** A map of one key in a list, without braces. */
  private flowPair(start: Token): ResourceNode {
    const { depth } = this;
    const map = this.collection('map', '', '', start.row, STYLE.flow);
    this.take();
    let token = this.peek();
    let key: ResourceNode;
    if (
      token.type === TOKEN.value ||
      token.type === TOKEN.flowEntry ||
      token.type === TOKEN.flowSequenceEnd
    ) {
      this.take();
      key = this.emptyScalar(token);
    } else key = this.node(false, false);
    map.content.push(key);
    token = this.peek();
    let value: ResourceNode | undefined;
    if (token.type === TOKEN.value) {
      this.take();
      token = this.peek();
      if (token.type !== TOKEN.flowEntry && token.type !== TOKEN.flowSequenceEnd) {
        value = this.node(false, false);
      }
    }
    value ??= this.emptyScalar(token);
    map.content.push(value);
    moveFoot(key, value);
    map.start = start.start;
    map.end = this.lastEnd;
    this.depth = depth;
    this.peek();
    return map;
  }

  private flowMapping(map: ResourceNode): void {
    const { content } = map;
    const outer = this.open();
    for (let first = true; ; first = false) {
      let token = this.peek();
      if (token.type === TOKEN.flowMappingEnd) break;
      if (!first) {
        if (token.type !== TOKEN.flowEntry) this.fail("did not find expected ',' or '}'", token);
        this.take();
        token = this.peek();
      }
      if (token.type === TOKEN.flowMappingEnd) break;
      let key: ResourceNode;
      let value: ResourceNode | undefined;
      if (token.type === TOKEN.key) {
        this.take();
        token = this.peek();
        key =
          isFlowEnd(token) || token.type === TOKEN.value ? this.emptyScalar(token) : this.node(false, false);
        token = this.peek();
        if (token.type === TOKEN.value) {
          this.take();
          token = this.peek();
          if (!isFlowEnd(token)) value = this.node(false, false);
        }
      } else {
        key = this.node(false, false);
        token = this.peek();
      }
      value ??= this.emptyScalar(token);
      content.push(key, value);
      this.countKeys(map, token);
      moveFoot(key, value);
    }
    this.opened = outer;
    this.endCollection(map);
  }

  /** Takes a bracket or brace, and returns the one around it. */
  private open(): number | undefined {
    const { opened } = this;
    this.opened = this.peek().start;
    this.take();
    return opened;
  }
}

function isEmptyEntry({ type }: Token): boolean {
  return type === TOKEN.key || type === TOKEN.value || type === TOKEN.blockEnd;
}

function isFlowEnd({ type }: Token): boolean {
  return type === TOKEN.flowEntry || type === TOKEN.flowMappingEnd;
}

function moveFoot(key: ResourceNode, value: ResourceNode): void {
  if (key.foot !== '' || value.foot === '') return;
  key.foot = value.foot;
  value.foot = '';
}
