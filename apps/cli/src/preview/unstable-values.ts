import {
  documentRoot,
  fieldAt,
  type ResourceNode,
  STYLE,
  textNode,
  writeDocument,
} from '@krmhub/schema/resource-yaml';

/** A path of keys and of indexes of lists. */
export type ValuePath = readonly (string | number)[];

const MARKER = '(differs in each run)';

/** Returns where two trees differ: the deepest values that are not equal. */
export function differentPaths(one: ResourceNode, other: ResourceNode, path: ValuePath = []): ValuePath[] {
  const [a, b] = [documentRoot(one), documentRoot(other)];
  if (a.kind === 'map' && b.kind === 'map') {
    const values = new Map(pairs(b));
    const below = pairs(a).flatMap(([name, value]): ValuePath[] => {
      const now = values.get(name);
      values.delete(name);
      return now === undefined ? [[...path, name]] : differentPaths(value, now, [...path, name]);
    });
    return [...below, ...[...values.keys()].map((name) => [...path, name])];
  }
  if (a.kind === 'list' && b.kind === 'list' && a.content.length === b.content.length) {
    return a.content.flatMap((value, at) => differentPaths(value, b.content[at]!, [...path, at]));
  }
  return writeDocument(a) === writeDocument(b) ? [] : [path];
}

/** Replaces the values at these paths, as far as the document has them. */
export function markUnstable(document: ResourceNode, paths: readonly ValuePath[]): void {
  for (const path of paths) {
    const found = path.length === 0 ? undefined : fieldAt(documentRoot(document), path);
    if (found === undefined) continue;
    const { tag, style, value } = textNode(MARKER, STYLE.doubleQuoted);
    Object.assign(found, { kind: 'scalar', tag, style, value, content: [], target: undefined });
  }
}

export function pathText(path: ValuePath): string {
  return path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : at === 0 ? step : `.${step}`))
    .join('');
}

function pairs({ kind, content }: ResourceNode): [string, ResourceNode][] {
  if (kind !== 'map') return [];
  return content.flatMap((key, at) =>
    at % 2 === 0 ? [[key.value, content[at + 1]!] as [string, ResourceNode]] : [],
  );
}
