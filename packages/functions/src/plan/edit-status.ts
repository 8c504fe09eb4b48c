import { isDeepStrictEqual } from 'node:util';
import { defined } from '@krmhub/schema/defined';
import type { JsonObject, JsonValue } from '@krmhub/schema/definition';
import { KrmhubError } from '@krmhub/schema/error';
import {
  documentRoot,
  field,
  fromJson,
  type ResourceDocument,
  type ResourceNode,
  readResources,
  type SequenceIndent,
  STYLE,
  textNode,
  toJson,
  writeDocument,
} from '@krmhub/schema/resource-yaml';
import type { KptfileSource } from './kptfile.js';
import { isMapping, KPTFILE } from './kptfile-content.js';
import { type RenderOutcome, renderStatus } from './render-status.js';

/**
 * Returns the text of a Kptfile with the status of a render, as kpt has it: only the lines of `status` change, and no
 * comment is lost. Undefined for a text whose layout cannot be edited.
 */
export async function editStatus(text: string, outcome: RenderOutcome): Promise<string | undefined> {
  // Most renders say what the one before said. Positions take another library.
  const block = readBlock(text);
  const old = block === undefined ? undefined : field(documentRoot(block.node), 'status');
  const before = old === undefined ? undefined : toJson(old);
  if (before !== undefined && isDeepStrictEqual(before, statusAfter(before, outcome))) return text;
  const { parseKptfile } = await import('./kptfile.js');
  const source = parseKptfile(text, KPTFILE);
  if (!('kptfile' in source)) return undefined;
  const wanted = statusAfter(source.value.status, outcome);
  if (isDeepStrictEqual(source.value.status, wanted)) return text;
  const edited = edit(source, wanted, listIndent(text, block) ?? 'wide');
  const after = edited === undefined ? undefined : parseKptfile(edited, KPTFILE);
  if (after === undefined || !('kptfile' in after)) return undefined;
  return isDeepStrictEqual(after.value, { ...source.value, status: wanted }) ? edited : undefined;
}

/** The condition `Rendered` comes last, as in kpt. Other conditions, and fields of a newer kpt, stay. */
function statusAfter(before: JsonValue | undefined, outcome: RenderOutcome): JsonObject {
  const { condition, status } = renderStatus(outcome);
  const { renderStatus: _, ...others } = isMapping(before) ? before : {};
  const { conditions } = others;
  const kept = (Array.isArray(conditions) ? conditions : []).filter(
    (one) => !isMapping(one) || one.type !== condition.type,
  );
  return {
    ...others,
    conditions: [...kept, condition],
    ...defined({ renderStatus: status }),
  };
}

/** How a text indents its lists; undefined without lists. So kyaml writes the status as well if a function changes the file. */
function listIndent(text: string, document: ResourceDocument | undefined): SequenceIndent | undefined {
  return /^ *- /m.test(text) ? document?.seqIndent : undefined;
}

/** `seqIndent` is for a status without lists. */
function edit(source: KptfileSource, status: JsonObject, seqIndent: SequenceIndent): string | undefined {
  const { text, value, offsets } = source;
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const inFile = (lines: string) => (newline === '\n' ? lines : lines.replaceAll('\n', newline));
  const root = offsets([]);
  if (text[root.start] === '{') return editFlow(source, status);
  const end = endOfDocument(text, root.start);
  if (!Object.hasOwn(value, 'status')) {
    const before = text.slice(0, end);
    const gap = before === '' || before.endsWith('\n') ? '' : newline;
    const added = writeDocument(fromJson({ status }), { seqIndent });
    return `${before}${gap}${inFile(added)}${text.slice(end)}`;
  }
  const start = offsets(['status'], 'key').start;
  const next = Object.keys(value)
    .map((name) => offsets([name], 'key').start)
    .filter((at) => at > start);
  const block = text.slice(start, Math.min(end, ...next));
  const own = withoutTail(block);
  const written = rewrite(own.replaceAll('\r\n', '\n'), status, seqIndent);
  if (written === undefined) return undefined;
  const isLast = start + own.length === text.length && !own.endsWith('\n');
  return `${text.slice(0, start)}${inFile(isLast ? written.trimEnd() : written)}${text.slice(start + own.length)}`;
}

function editFlow({ text, value, offsets }: KptfileSource, status: JsonObject): string {
  const json = JSON.stringify(status);
  if (Object.hasOwn(value, 'status')) {
    const { start, end } = offsets(['status']);
    return `${text.slice(0, start)}${json}${text.slice(end)}`;
  }
  const last = offsets([]).end - 1;
  return `${text.slice(0, last)}, "status": ${json}${text.slice(last)}`;
}

/** Where the first document ends. */
function endOfDocument(text: string, start: number): number {
  const marker = /^(?:---|\.\.\.)(?=\s|$)/gm;
  marker.lastIndex = start;
  return marker.exec(text)?.index ?? text.length;
}

/** Returns the block without the lines at its end that belong to what is below: comments without indent, empty lines. */
function withoutTail(block: string): string {
  let end = block.length;
  while (end > 0) {
    const start = block.lastIndexOf('\n', end - 2) + 1;
    const line = block.slice(start, end);
    if (line.trim() !== '' && !line.startsWith('#')) break;
    end = start;
  }
  return block.slice(0, end);
}

/** Changes the value of a block `status: …`. */
function rewrite(block: string, status: JsonObject, seqIndent: SequenceIndent): string | undefined {
  const document = readBlock(block);
  if (document === undefined) return undefined;
  const { node } = document;
  const merger = new Merger();
  const root = documentRoot(node);
  const old = field(root, 'status');
  const key = root.content[0]!;
  root.content[1] = merger.merge(old, status);
  key.head = [...merger.lost, ...(key.head === '' ? [] : [key.head])].join('\n');
  return writeDocument(node, { seqIndent: listIndent(block, document) ?? seqIndent });
}

/** Undefined for text that kyaml cannot read, such as a block with an alias of something above it. */
function readBlock(block: string): ResourceDocument | undefined {
  try {
    return readResources(block, KPTFILE)[0];
  } catch (error) {
    if (error instanceof KrmhubError) return undefined;
    throw error;
  }
}

/** Gives nodes new values. Nodes whose values remain keep their style and comments. */
class Merger {
  /** Comments of what was removed. */
  readonly lost: string[] = [];

  merge(node: ResourceNode | undefined, value: JsonValue): ResourceNode {
    if (node === undefined) return fromJson(value);
    if (node.kind === 'map' && isMapping(value)) return this.#map(node, value);
    if (node.kind === 'list' && Array.isArray(value)) return this.#list(node, value);
    if (node.kind === 'scalar' && isDeepStrictEqual(toJson(node), value)) return node;
    const made = fromJson(value);
    // A text of several lines begins below its comment.
    if (node.kind === 'scalar' && made.kind === 'scalar' && !String(value).includes('\n')) {
      made.head = node.head;
      made.line = node.line;
      made.foot = node.foot;
    } else this.#lose(node);
    return made;
  }

  #map(node: ResourceNode, value: JsonObject): ResourceNode {
    const old = new Map<string, [key: ResourceNode, value: ResourceNode]>();
    for (let at = 0; at + 1 < node.content.length; at += 2) {
      const [key, child] = [node.content[at]!, node.content[at + 1]!];
      if (Object.hasOwn(value, key.value)) old.set(key.value, [key, child]);
      else {
        this.#lose(key);
        this.#lose(child);
      }
    }
    // In the order of kpt, where a step is another one.
    const content = Object.entries(value).flatMap(([name, item]) => {
      const [key = textNode(name), child] = old.get(name) ?? [];
      return [key, this.merge(child, item)];
    });
    return this.#filled(node, content);
  }

  /** Items of a list of conditions are named by their type; others are in order. */
  #list(node: ResourceNode, value: readonly JsonValue[]): ResourceNode {
    const old = [...node.content];
    const content = value.map((item) => {
      const type = isMapping(item) ? item.type : undefined;
      const at = old.findIndex((one) => type === undefined || field(one, 'type')?.value === type);
      return this.merge(at === -1 ? undefined : old.splice(at, 1)[0], item);
    });
    for (const one of old) this.#lose(one);
    return this.#filled(node, content);
  }

  #filled(node: ResourceNode, content: ResourceNode[]): ResourceNode {
    if (node.content.length === 0) {
      // `{} # comment`
      this.#lose(node);
      node.style &= ~STYLE.flow;
      node.head = node.line = node.foot = '';
    }
    node.content = content;
    return node;
  }

  #lose({ head, line, foot, content }: ResourceNode): void {
    this.lost.push(...[head, line, foot].filter((text) => text !== ''));
    for (const child of content) this.#lose(child);
  }
}
