import { transformSync } from 'esbuild';
import { parseAst } from 'rollup/parseAst';

type Node = { type: string } & Record<string, unknown>;

/**
 * Returns the spreads in object literals that add nothing in one case, such as `...(a === undefined ? {} : { a })` and
 * `...(a && { a })`. `...defined({ a })` says the same.
 */
export function conditionalSpreads(text: string): string[] {
  if (!/\.\.\.\s*\(/.test(text)) return [];
  const { code } = transformSync(text, { loader: 'tsx', jsx: 'automatic', target: 'esnext' });
  const found: string[] = [];
  const visit = (node: Node): void => {
    if (node.type === 'ObjectExpression') {
      for (const { type, argument } of node.properties as (Node & { argument: Node })[])
        if (type === 'SpreadElement' && canBeEmpty(argument)) found.push(textOf(code, argument));
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

function textOf(code: string, node: Node): string {
  return code.slice(node.start as number, node.end as number);
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
