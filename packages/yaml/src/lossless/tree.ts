/**
 * YAML as a tree that keeps the text of every plain scalar. Whether `0777`, `1e3` or `yes` is a number or a boolean
 * differs between readers: who passes a document on leaves that to the next reader. Comments and anchors are not kept.
 */
export type YamlNode = YamlScalar | YamlMap | YamlList;

export interface YamlScalar {
  kind: 'scalar';
  /** Without quotes, escapes and folding. */
  value: string;
  /** Unquoted on one line: its type depends on its text. Others are strings. */
  plain: boolean;
  /** A block scalar that keeps its lines. */
  literal?: boolean;
  /** As written, for example `!!str`. */
  tag?: string;
}

export interface YamlMap {
  kind: 'map';
  entries: [key: YamlScalar, value: YamlNode][];
  tag?: string;
}

export interface YamlList {
  kind: 'list';
  items: YamlNode[];
  tag?: string;
}

/** Returns the value of a key; undefined if the node is not a mapping with that key. */
export function yamlField(node: YamlNode | undefined, name: string): YamlNode | undefined {
  return node?.kind === 'map' ? node.entries.find(([key]) => key.value === name)?.[1] : undefined;
}

/** Returns the text of a scalar at a path of keys. */
export function yamlText(node: YamlNode | undefined, ...path: readonly string[]): string | undefined {
  const found = path.reduce<YamlNode | undefined>(yamlField, node);
  return found?.kind === 'scalar' ? found.value : undefined;
}

/** A scalar that every reader takes for a string. */
export function yamlString(value: string): YamlScalar {
  return { kind: 'scalar', value, plain: false };
}

/**
 * Text that is a string to every reader without quotes too: no number, date, boolean or null begins or reads like this.
 */
export function isCertainlyText(value: string): boolean {
  return /^[A-Za-z_/]/.test(value) && !/^(?:y|n|yes|no|on|off|true|false|null)$/i.test(value);
}
