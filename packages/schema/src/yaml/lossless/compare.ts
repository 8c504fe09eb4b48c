import type { YamlNode, YamlScalar } from './tree.js';

/**
 * Reports whether two Kubernetes objects are the same JSON for readers in Go (go-yaml 3), such as kustomize. The order of
 * keys does not count, nor do quotes that change nothing: `1` and `"1"` differ, `nginx` and `"nginx"` do not.
 */
export function isSameYaml(a: YamlNode, b: YamlNode): boolean {
  if (a.kind === 'scalar' || b.kind === 'scalar') {
    return a.kind === 'scalar' && b.kind === 'scalar' && meaningOf(a) === meaningOf(b);
  }
  if (a.tag !== b.tag) return false;
  if (a.kind === 'list') {
    return (
      b.kind === 'list' &&
      a.items.length === b.items.length &&
      a.items.every((item, index) => isSameYaml(item, b.items[index]!))
    );
  }
  if (b.kind !== 'map' || a.entries.length !== b.entries.length) return false;
  // Keys of objects are strings, however they are written.
  const others = new Map(b.entries.map(([key, value]) => [key.value, value]));
  return (
    others.size === b.entries.length &&
    a.entries.every(([key, value]) => {
      const other = others.get(key.value);
      return other !== undefined && isSameYaml(value, other);
    })
  );
}

const NULL = /^(?:|~|null|Null|NULL)$/;
const BOOLEAN = /^(?:true|True|TRUE|false|False|FALSE)$/;
/** Numbers that are written in one way only, but for zeros and exponents. */
const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** What may be a number, a date or a merge key: other bases, underscores, `.inf`, `<<`. */
const SPECIAL = /^(?:[-+]?[0-9.][0-9a-fx_o.]*(?:e[-+]?[0-9_]+)?|[-+]?\.(?:inf|nan)|\d{4}-\d.*|<<|=)$/i;
/** Digits that every number keeps as a double. */
const MAX_DIGITS = 15;

/** Equal for scalars that are the same JSON. Where readers could differ, only the same text is equal. */
function meaningOf({ value, plain, tag }: YamlScalar): string {
  if (tag !== undefined) return `${tag} ${plain} ${value}`;
  if (!plain) return `text ${value}`;
  if (NULL.test(value)) return 'null';
  if (BOOLEAN.test(value)) return `boolean ${value.toLowerCase()}`;
  if (DECIMAL.test(value) && value.replace(/[eE].*|\D/g, '').length <= MAX_DIGITS)
    return `number ${Number(value)}`;
  return SPECIAL.test(value) ? `special ${value}` : `text ${value}`;
}
