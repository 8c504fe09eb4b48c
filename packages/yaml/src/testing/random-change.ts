import { equalValue, fromJson, type ResourceNode, STYLE } from '../resources.js';
import type { Random } from './random.js';

/** Lines of the text that a change may change: offsets of their first and last character. */
export interface ChangedSpan {
  start: number;
  end: number;
}

interface Place {
  node: ResourceNode;
  /** The outermost flow collection around it, or itself. */
  flow: ResourceNode | undefined;
  /** The key whose value it is, or itself. */
  line: ResourceNode;
}

const VALUES: readonly unknown[] = [
  null,
  'new',
  'true',
  '# text',
  'a: b',
  ' space',
  'two\nlines\n',
  'two\nlines',
  '\n\nx\n\n',
  'tab\there',
  'trailing \nspace\n',
  '',
  '- x',
  "it's",
  7,
  1.5,
  false,
  [],
  {},
  [1, 'x', { n: 1 }],
  { n: { m: [1, []] }, o: null },
];

/** Makes random changes to a tree that was read from a text, and returns which lines of the text they may change. */
export class RandomChange {
  private readonly random: Random;
  private readonly text: string;
  private count = 0;
  private readonly spans: ChangedSpan[] = [];
  /** The nodes before, by where they are. */
  private readonly before = new Map<string, ResourceNode>();
  /** Lists that got or lost items. */
  private readonly lists = new Set<ResourceNode>();

  constructor(random: Random, text: string, before: ResourceNode) {
    this.random = random;
    this.text = text;
    const visit = (node: ResourceNode): void => {
      this.before.set(place(node), node);
      for (const child of node.content) visit(child);
    };
    visit(before);
  }

  /**
   * The lines that may change. An item that changed in a list that changed can count as a new one, and equal items can
   * count as each other.
   */
  changedSpans(): ChangedSpan[] {
    for (const list of this.lists) {
      const old = this.before.get(place(list))?.content ?? [];
      const hasEqual = old.some((item, i) => old.slice(0, i).some((other) => equalValue(item, other)));
      if (hasEqual) for (const item of old) this.touchEntry(item, item);
      for (const item of list.content) {
        const before = this.before.get(place(item));
        if (before !== undefined && !equalValue(before, item)) this.touchEntry(item, item);
      }
    }
    return this.spans;
  }

  change(root: ResourceNode): void {
    const places: Place[] = [];
    this.collect(root, undefined, root, places);
    const { node, flow, line } = this.random.pick(places);
    if (flow !== undefined) this.touch(line.start, flow.end);
    if (node.kind === 'map') this.changeMap(node, line, root);
    else this.changeList(node, line);
  }

  private collect(
    node: ResourceNode,
    flow: ResourceNode | undefined,
    line: ResourceNode,
    places: Place[],
  ): void {
    const around = flow ?? ((node.style & STYLE.flow) === 0 ? undefined : node);
    if (node.kind === 'map') {
      places.push({ node, flow: around, line });
      for (let i = 0; i < node.content.length; i += 2) {
        if (node.content[i]!.value === '<<') continue;
        this.collect(node.content[i + 1]!, around, around === undefined ? node.content[i]! : line, places);
      }
    } else if (node.kind === 'list') {
      places.push({ node, flow: around, line });
      for (const item of node.content) this.collect(item, around, around === undefined ? item : line, places);
    }
  }

  private value(): ResourceNode {
    return fromJson(this.random.pick(VALUES) as never);
  }

  private changeMap(map: ResourceNode, line: ResourceNode, root: ResourceNode): void {
    const { random } = this;
    const { content } = map;
    const index = 2 * random.below(content.length / 2 + 1);
    // Nothing is inserted above a merge key.
    if (content[index]?.value === '<<') return;
    const roll = random.next();
    if (roll < 0.3 || content.length === 0) {
      if (content.length === 0 || map.start === -1) this.touch(line.start, map.end);
      // It can become the first one, on the line of a dash.
      if (index === 0 && content.length > 0) this.touch(content[0]!.start, content[0]!.start);
      const key = random.chance(0.9)
        ? `new${++this.count}`
        : random.pick(['a: b', 'yes', '12', '# k', "it's"]) + ++this.count;
      content.splice(index, 0, fromJson(key), this.value());
    } else if (index === content.length) return;
    else if (roll < 0.7) {
      this.touchEntry(content[index]!, content[index + 1]!);
      content[index + 1] = this.value();
    } else {
      if (map === root && content.length === 2) return;
      if (index === 0 && content.length > 2) this.touch(content[0]!.start, content[2]!.start);
      this.touchEntry(content[index]!, content[index + 1]!);
      content.splice(index, 2);
      if (content.length === 0) this.touch(line.start, Math.max(map.end, line.end), true);
    }
  }

  private changeList(list: ResourceNode, line: ResourceNode): void {
    const { random } = this;
    const { content } = list;
    const index = random.below(content.length + 1);
    const item = content[index];
    const roll = random.next();
    this.lists.add(list);
    if (roll < 0.3 || content.length === 0) {
      if (content.length === 0 || list.start === -1) this.touch(line.start, list.end);
      if (index === 0 && content.length > 0) this.touch(list.start, content[0]!.start);
      content.splice(index, 0, this.value());
    } else if (item === undefined) return;
    else if (roll < 0.5) {
      this.touchEntry(item, item);
      // The item can count as removed, and the next one moves up to the dash around it.
      if (index === 0 && content.length > 1) this.touch(item.start, content[1]!.start);
      content[index] = this.value();
    } else if (roll < 0.75) {
      this.touchEntry(item, item);
      if (index === 0 && content.length > 1) this.touch(item.start, content[1]!.start);
      content.splice(index, 1);
      if (content.length === 0) this.touch(line.start, Math.max(list.end, line.end), true);
    } else {
      for (const one of content) this.touchEntry(one, one);
      content.splice(random.below(content.length), 0, ...content.splice(index, 1));
    }
  }

  private touchEntry(key: ResourceNode, value: ResourceNode): void {
    this.touch(key.start, Math.max(key.end, value.end), true);
  }

  private touch(start: number, end: number, withComments = false): void {
    if (start === -1 || end === -1) return;
    let from = this.text.lastIndexOf('\n', start - 1) + 1;
    let to = this.text.indexOf('\n', end);
    if (to === -1) to = this.text.length;
    if (withComments) {
      const isComment = (line: string): boolean => line.trimStart().startsWith('#');
      const indent = (line: string): number => line.length - line.trimStart().length;
      // A dash can be above what is behind it.
      const above = (): string => this.text.slice(this.text.lastIndexOf('\n', from - 2) + 1, from - 1);
      while (from > 0 && (isComment(above()) || /^[ -]*(?:#|$)/.test(above()))) from -= above().length + 1;
      const column = start - (this.text.lastIndexOf('\n', start - 1) + 1);
      const below = (): string => this.text.slice(to + 1).split('\n', 1)[0]!;
      while (
        to < this.text.length &&
        (below() === '' || (isComment(below()) && indent(below()) + 2 > column))
      ) {
        to += below().length + 1;
      }
    }
    this.spans.push({ start: from, end: to });
  }
}

function place({ kind, start, end }: ResourceNode): string {
  return `${kind} ${start} ${end}`;
}
