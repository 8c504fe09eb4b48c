import { SourceMap } from 'node:module';
import { transformSync } from 'esbuild';
import { parseAst } from 'rollup/parseAst';

type Node = { type: string } & Record<string, unknown>;

/** A spread, and its line, from 1. */
export interface ConditionalSpread {
  line: number;
  spread: string;
}

/**
 * Returns the spreads in object literals that add nothing in one case, such as `...(a === undefined ? {} : { a })` and
 * `...(a && { a })`. `...defined({ a })` says the same.
 */
export function conditionalSpreads(text: string): ConditionalSpread[] {
  if (!/\.\.\.\s*\(/.test(text)) return [];
  const { code, map } = transformSync(text, {
    loader: 'tsx',
    jsx: 'automatic',
    target: 'esnext',
    sourcemap: true,
  });
  const positions = new SourceMap(JSON.parse(map));
  const found: ConditionalSpread[] = [];
  const add = ({ start, end }: Node): void => {
    const before = code.slice(0, start as number).split('\n');
    const entry = positions.findEntry(before.length - 1, before.at(-1)!.length);
    const line = 'originalLine' in entry ? entry.originalLine + 1 : 0;
    found.push({ line, spread: code.slice(start as number, end as number) });
  };
  const visit = (node: Node): void => {
    if (node.type === 'ObjectExpression') {
      for (const { type, argument } of node.properties as (Node & { argument: Node })[])
        if (type === 'SpreadElement' && canBeEmpty(argument)) add(argument);
    }
    for (const child of Object.values(node)) for (const one of [child].flat()) if (isNode(one)) visit(one);
  };
  visit(parseAst(code) as unknown as Node);
  return found;
}

function canBeEmpty(node: Node): boolean {
  if (node.type === 'LogicalExpression') return node.operator === '&&';
  if (node.type !== 'ConditionalExpression') return false;
  return [node.consequent, node.alternate].some((one) => isEmpty(one as Node));
}

function isEmpty(node: Node): boolean {
  return (
    (node.type === 'ObjectExpression' && (node.properties as unknown[]).length === 0) ||
    (node.type === 'UnaryExpression' && node.operator === 'void') ||
    (node.type === 'Identifier' && node.name === 'undefined') ||
    canBeEmpty(node)
  );
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
