import { YamlError } from '../error.js';
import { MAX_LEVELS } from '../limits.js';
import type { ResourceNode } from './node.js';

/**
 * Returns a copy with what each alias refers to, and without anchors; the node itself if it has no aliases. Throws
 * `invalid-document` if an alias is inside its own anchor, or if the aliases expand to more than 1,000 levels. The parser
 * limits the number of values.
 */
export function expandAliases(node: ResourceNode): ResourceNode {
  return hasAlias(node) ? new Expander().expand(node) : node;
}

function hasAlias(node: ResourceNode): boolean {
  return node.kind === 'alias' || node.content.some(hasAlias);
}

class Expander {
  /** Anchored collections around the current node. */
  readonly #open = new Set<ResourceNode>();
  #aliases = 0;
  #levels = 0;

  expand(node: ResourceNode): ResourceNode {
    if (node.kind === 'alias') return this.#alias(node);
    const copy = node.copy();
    copy.anchor = '';
    if (this.#aliases > 0) copy.head = copy.line = copy.foot = '';
    if (node.content.length === 0) return copy;
    if (++this.#levels > MAX_LEVELS) {
      throw new YamlError(`the aliases expand to more than ${MAX_LEVELS} levels`);
    }
    if (node.anchor !== '') this.#open.add(node);
    for (const child of node.content) copy.content.push(this.expand(child));
    this.#open.delete(node);
    this.#levels--;
    return copy;
  }

  /** The comments beside the alias stay; those of what it refers to are not repeated. */
  #alias({ target, value, head, line, foot }: ResourceNode): ResourceNode {
    if (this.#open.has(target!)) throw new YamlError(`the alias *${value} is inside its own anchor`);
    this.#aliases++;
    const copy = this.expand(target!);
    this.#aliases--;
    return this.#aliases > 0 ? copy : Object.assign(copy, { head, line, foot });
  }
}
