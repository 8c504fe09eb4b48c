/**
 * Parses YAML into nodes, as go-yaml 3 does.
 *
 * @module
 */

import { ResourceNode } from '../nodes/node.js';
import { YamlProblem } from './invalid.js';
import { LONG_TAG, NodeParser } from './parse-nodes.js';
import { TOKEN } from './tokens.js';

/** What go-yaml refuses to read, and thus cannot write. */
const FORBIDDEN = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/**
 * Parses the first document of a text into nodes with comments, as go-yaml 3 does. Returns undefined for a text without
 * content. Duplicate keys are kept. Throws YamlProblem.
 */
export function parseDocument(text: string): ResourceNode | undefined {
  const forbidden = FORBIDDEN.exec(text);
  if (forbidden !== null) {
    throw new YamlProblem('control characters are not allowed', rowAt(text, forbidden.index));
  }
  return new DocumentParser(text).document();
}

function rowAt(text: string, index: number): number {
  let row = 1;
  for (let i = text.indexOf('\n'); i !== -1 && i < index; i = text.indexOf('\n', i + 1)) row++;
  return row;
}

class DocumentParser extends NodeParser {
  document(): ResourceNode | undefined {
    this.peek();
    this.take();
    let token = this.peek();
    if (token.type === TOKEN.streamEnd) return undefined;
    const document = new ResourceNode('document', '', 0, '');
    document.row = token.row + 1;
    if (
      token.type === TOKEN.documentStart ||
      token.type === TOKEN.versionDirective ||
      token.type === TOKEN.tagDirective
    ) {
      this.directives();
      token = this.peek();
      if (token.type !== TOKEN.documentStart) this.fail('did not find expected <document start>', token);
      this.take();
      token = this.peek();
      document.content.push(
        token.type === TOKEN.versionDirective ||
          token.type === TOKEN.tagDirective ||
          token.type === TOKEN.documentStart ||
          token.type === TOKEN.documentEnd ||
          token.type === TOKEN.streamEnd
          ? this.emptyScalar(token)
          : this.node(true, false),
      );
    } else {
      this.directives();
      this.splitHead(document);
      document.content.push(this.node(true, false));
    }
    const root = document.content[0]!;
    document.start = root.start;
    document.end = root.end;
    this.documentEnd(document);
    return document;
  }

  /** What is above an empty line in the first comment belongs to the document. */
  private splitHead(document: ResourceNode): void {
    const { head } = this;
    for (let i = head.length - 1; i > 0; i--) {
      if (head.charCodeAt(i) !== 0x0a) continue;
      if (i === head.length - 1) document.head = head.slice(0, i);
      else if (head.charCodeAt(i - 1) === 0x0a) document.head = head.slice(0, i - 1);
      else continue;
      this.head = head.slice(i + 1);
      return;
    }
  }

  private documentEnd(document: ResourceNode): void {
    let token = this.peek();
    if (token.type === TOKEN.documentEnd) this.take();
    document.foot = this.foot === '' ? this.head : this.foot;
    this.head = '';
    this.line = '';
    this.foot = '';
    token = this.peek();
    while (token.type === TOKEN.documentEnd) {
      this.take();
      token = this.peek();
    }
    // An empty document may follow.
    if (token.type === TOKEN.documentStart) {
      this.take();
      token = this.peek();
    }
    if (token.type !== TOKEN.streamEnd) this.fail('did not find expected <document start>', token);
  }

  private directives(): void {
    let version = false;
    for (;;) {
      const token = this.peek();
      if (token.type === TOKEN.versionDirective) {
        if (version) this.fail('found duplicate %YAML directive', token);
        if (token.value !== '1.1') this.fail('found incompatible YAML document', token);
        version = true;
      } else if (token.type === TOKEN.tagDirective) {
        if (this.handles.has(token.value)) this.fail('found duplicate %TAG directive', token);
        this.handles.set(token.value, token.suffix);
      } else break;
      this.take();
    }
    if (!this.handles.has('!')) this.handles.set('!', '!');
    if (!this.handles.has('!!')) this.handles.set('!!', LONG_TAG);
  }
}
