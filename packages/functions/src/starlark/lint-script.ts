import type { Diagnostic, Position } from '@krmhub/schema/diagnostic';
import { DOCUMENT_LIMITS } from '@krmhub/schema/limits';
import {
  findProblems,
  parse,
  StarlarkSyntaxError,
  type Statement,
  type SyntaxProblem,
  type SyntaxTree,
  UNIVERSE,
} from '@krmhub/starlark';
import { SCRIPT_CODES, type ScriptCode } from './codes.js';
import { FUNCTION_DIALECT, PREDECLARED } from './dialect.js';
import { MODULE_FILES } from './module-files.js';

/** Finds syntax errors, names that are not defined, loads that are not used, and statements that never run. */
export function lintScript(bytes: Uint8Array, file: string): Diagnostic[] {
  if (bytes.byteLength > DOCUMENT_LIMITS.maxScriptBytes) {
    const message = `the script has ${bytes.byteLength} bytes; the limit is ${DOCUMENT_LIMITS.maxScriptBytes}`;
    return [diagnostic('script/too-large', file, { line: 1, column: 1 }, message)];
  }
  const found: Diagnostic[] = [];
  let tree: SyntaxTree;
  try {
    tree = parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), { file });
  } catch (error) {
    if (error instanceof StarlarkSyntaxError)
      return error.problems.map((one) => problem('script/syntax', file, one));
    if (error instanceof TypeError) {
      return [diagnostic('script/syntax', file, { line: 1, column: 1 }, 'the script is not UTF-8 text')];
    }
    throw error;
  }
  const { problems, resolution } = findProblems(tree, {
    dialect: FUNCTION_DIALECT,
    isPredeclared: (name) => (PREDECLARED as readonly string[]).includes(name),
    isUniversal: (name) => UNIVERSE.has(name),
    knownNames: [...PREDECLARED, ...UNIVERSE.keys()],
  });
  found.push(...problems.map((one) => problem('script/name', file, one)));
  const uses = new Map<unknown, number>();
  for (const binding of resolution.bindings.values()) uses.set(binding, (uses.get(binding) ?? 0) + 1);
  const at = (offset: number) => tree.source.positionAt(offset);
  for (const statement of tree.statements) {
    if (statement.kind !== 'load') continue;
    checkModule(statement, file, at, found);
    for (const { local } of statement.names) {
      const binding = resolution.bindings.get(local);
      if (binding === undefined || uses.get(binding) !== 1) continue;
      const message = `${local.name} is loaded and not used`;
      found.push(diagnostic('script/unused-load', file, at(local.start), message));
    }
  }
  findUnreachable(tree.statements, (statement) => {
    found.push(diagnostic('script/unreachable', file, at(statement.start), 'the statement can never run'));
  });
  return found;
}

function checkModule(
  statement: Extract<Statement, { kind: 'load' }>,
  file: string,
  at: (offset: number) => Position,
  found: Diagnostic[],
): void {
  const { module, names } = statement;
  const known = MODULE_FILES.get(module.value);
  if (known === undefined) {
    const message = `unknown module ${JSON.stringify(module.value.slice(0, 100))}`;
    found.push(diagnostic('script/unknown-module', file, at(module.start), message));
    return;
  }
  if (known.unavailable !== undefined) {
    const message = `the use of ${module.value} fails: ${known.unavailable}`;
    found.push(diagnostic('script/unavailable-module', file, at(module.start), message));
  }
  for (const { original } of names) {
    if (known.names.includes(original.name)) continue;
    const message = `${module.value} has no ${original.name}, only ${known.names.join(' and ')}`;
    found.push(diagnostic('script/unknown-module', file, at(original.start), message));
  }
}

/** Reports the first statement after one that ends its block. */
function findUnreachable(statements: readonly Statement[], report: (statement: Statement) => void): void {
  const last = statements.findIndex(endsBlock);
  const next = last === -1 ? undefined : statements[last + 1];
  if (next !== undefined) report(next);
  for (const statement of statements) {
    if (statement.kind === 'if') {
      for (const { body } of statement.branches) findUnreachable(body, report);
      findUnreachable(statement.otherwise ?? [], report);
    } else if (statement.kind === 'def' || statement.kind === 'for' || statement.kind === 'while') {
      findUnreachable(statement.body, report);
    }
  }
}

function endsBlock(statement: Statement): boolean {
  switch (statement.kind) {
    case 'return':
    case 'break':
    case 'continue':
      return true;
    case 'if':
      return (
        statement.otherwise?.some(endsBlock) === true &&
        statement.branches.every(({ body }) => body.some(endsBlock))
      );
    case 'expression': {
      const { expression } = statement;
      if (expression.kind !== 'call') return false;
      return expression.callee.kind === 'identifier' && expression.callee.name === 'fail';
    }
    default:
      return false;
  }
}

function problem(code: ScriptCode, file: string, { message, position }: SyntaxProblem): Diagnostic {
  return diagnostic(code, file, position, message);
}

function diagnostic(code: ScriptCode, file: string, { line, column }: Position, message: string): Diagnostic {
  const { severity, fix } = SCRIPT_CODES[code];
  const start = { line, column };
  return { code, severity, message, file, path: '', range: { start, end: start }, hint: fix };
}
