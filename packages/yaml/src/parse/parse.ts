/**
 * Parses YAML into nodes, as go-yaml 3 does.
 *
 * @module
 */

import { ResourceNode } from '../nodes/node.js';
import { YamlProblem } from './invalid.js';
import { GO_YAML, type ParseOptions } from './options.js';
import { NodeParser } from './parse-nodes.js';
import { LONG_TAG } from './resolve-tag.js';
import { TOKEN, type Token } from './tokens.js';

/** What go-yaml refuses to read, and thus cannot write. */
const FORBIDDEN = /[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/**
 * Parses the first document of a text into nodes with comments, as go-yaml 3 does. Returns undefined for a text without
 * content. Duplicate keys are kept. Throws YamlProblem, also if another document with content follows.
 */
export function parseDocument(text: string): ResourceNode | undefined {
  return parser(text, GO_YAML).onlyDocument();
}

/**
 * Parses the documents of a text one by one. Of a document without content, the root is an empty scalar. Throws
 * YamlProblem at the first error.
 */
export function parseDocuments(text: string, options: ParseOptions = GO_YAML): Iterable<ResourceNode> {
  return parser(text, options).documents();
}

/** The text of a strict reader is checked before. */
function parser(text: string, options: ParseOptions): DocumentParser {
  const forbidden = options.strict === undefined ? FORBIDDEN.exec(text) : null;
  if (forbidden !== null) {
    throw new YamlProblem('control characters are not allowed', rowAt(text, forbidden.index));
  }
  return new DocumentParser(text, options);
}

function rowAt(text: string, index: number): number {
  let row = 1;
  for (let i = text.indexOf('\n'); i !== -1 && i < index; i = text.indexOf('\n', i + 1)) row++;
  return row;
}

class DocumentParser extends NodeParser {
  *documents(): Generator<ResourceNode> {
    this.peek();
    this.take();
    const { strict } = this.options;
    // Whether a document may start without `---`: the first, and in YAML 1.2 one below `...`.
    let mayBeBare = true;
    for (;;) {
      let token = this.peek();
      while (token.type === TOKEN.documentEnd && (strict !== undefined || !mayBeBare)) {
        const { row } = token;
        mayBeBare ||= strict !== undefined;
        this.take();
        token = this.peek();
        if (token.row === row && token.type !== TOKEN.streamEnd) this.failAtDocument(token);
      }
      if (token.type === TOKEN.streamEnd) return;
      if (!mayBeBare && !startsDocument(token)) this.failAtDocument(token);
      yield this.document(token);
      mayBeBare = false;
    }
  }

  onlyDocument(): ResourceNode | undefined {
    this.peek();
    this.take();
    let token = this.peek();
    if (token.type === TOKEN.streamEnd) return undefined;
    const document = this.document(token);
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
    if (token.type !== TOKEN.streamEnd) this.failAtDocument(token);
    return document;
  }

  private document(first: Token): ResourceNode {
    const document = new ResourceNode('document', '', 0, '');
    document.row = first.row + 1;
    this.startDocument();
    this.directives();
    if (startsDocument(first)) {
      let token = this.peek();
      if (token.type !== TOKEN.documentStart) this.failAtDocument(token);
      this.take();
      token = this.peek();
      document.content.push(isDocumentEdge(token) ? this.emptyScalar(token) : this.node(true, false));
    } else {
      this.splitHead(document);
      document.content.push(this.node(true, false));
    }
    const root = document.content[0]!;
    document.start = root.start;
    document.end = root.end;
    this.peek();
    document.foot = this.foot === '' ? this.head : this.foot;
    this.head = '';
    this.line = '';
    this.foot = '';
    return document;
  }

  private failAtDocument(token: Token): never {
    this.fail('did not find expected <document start>', token);
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

function startsDocument({ type }: Token): boolean {
  return type === TOKEN.documentStart || type === TOKEN.versionDirective || type === TOKEN.tagDirective;
}

function isDocumentEdge(token: Token): boolean {
  return startsDocument(token) || token.type === TOKEN.documentEnd || token.type === TOKEN.streamEnd;
}
