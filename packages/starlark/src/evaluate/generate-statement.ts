import type { Binding } from '../resolve/scope.js';
import type {
  AssignStatement,
  Expression,
  ForStatement,
  IfStatement,
  LoadStatement,
  Statement,
  WhileStatement,
} from '../syntax/tree.js';
import { type CodeWriter, variableName } from './code-writer.js';
import { generateLoop } from './generate-loop.js';
import { augmented } from './generate-operators.js';

export function generateStatements(writer: CodeWriter, statements: readonly Statement[]): void {
  for (const statement of statements) writer.freeTemporaries(() => generateStatement(writer, statement));
}

function generateStatement(writer: CodeWriter, statement: Statement): void {
  switch (statement.kind) {
    case 'expression':
      writer.expression(statement.expression);
      break;
    case 'assign':
      generateAssign(writer, statement);
      break;
    case 'def':
      writer.assign(statement.name, writer.functionValue(statement), statement.start);
      break;
    case 'if':
      generateIf(writer, statement);
      break;
    case 'for':
      generateFor(writer, statement);
      break;
    case 'while':
      generateWhile(writer, statement);
      break;
    case 'return': {
      const value = statement.value === undefined ? 'null' : writer.expression(statement.value);
      const ended = writer.openLoops.map((loop) => `endLoop(${loop});`).join('');
      writer.write(`${ended}return ${value};`);
      break;
    }
    case 'break':
    case 'continue':
      writer.write(`${statement.kind};`);
      break;
    case 'load':
      generateLoad(writer, statement);
      break;
    case 'pass':
      break;
  }
}

function generateIf(writer: CodeWriter, { branches, otherwise }: IfStatement): void {
  /** In how many of the branches that go on a variable gets a value. */
  const outcomes = new Map<Binding, number>();
  let continued = 0;
  const label = writer.unique();
  const branch = (body: readonly Statement[]) => {
    const assigned = writer.maybe(() => generateStatements(writer, body));
    if (endsFlow(body)) return;
    continued++;
    for (const binding of assigned) outcomes.set(binding, (outcomes.get(binding) ?? 0) + 1);
  };
  if (branches.length === 1) {
    writer.write(`if(${writer.condition(branches[0]!.condition)}){`);
    branch(branches[0]!.body);
    writer.write(otherwise === undefined ? '}' : '}else{');
    branch(otherwise ?? []);
    if (otherwise !== undefined) writer.write('}');
  } else {
    // A block with a label, because nesting each `elif` in the `else` before would be as deep as the chain is long.
    writer.write(`o${label}:{`);
    for (const { condition, body } of branches) {
      writer.write(`if(${writer.condition(condition)}){`);
      branch(body);
      writer.write(`break o${label};}`);
    }
    branch(otherwise ?? []);
    writer.write('}');
  }
  for (const [binding, count] of outcomes) {
    if (count === continued) writer.setAssigned(binding);
  }
}

/** Whether the statements after these never run. */
function endsFlow(statements: readonly Statement[]): boolean {
  const last = statements.at(-1);
  return last?.kind === 'return' || last?.kind === 'break' || last?.kind === 'continue';
}

function generateFor(writer: CodeWriter, { target, iterable, body }: ForStatement): void {
  const value = writer.expression(iterable);
  generateLoop(writer, value, iterable.start, (element) => {
    writer.assign(target, element, target.start);
    generateStatements(writer, body);
  });
}

function generateWhile(writer: CodeWriter, { condition, body }: WhileStatement): void {
  writer.write('for(;;){if(--thread.fuel<0)thread.refuel();');
  writer.maybe(() => {
    writer.write(`if(!(${writer.condition(condition)}))break;`);
    generateStatements(writer, body);
  });
  writer.write('}');
}

function generateLoad(writer: CodeWriter, { module, names, start }: LoadStatement): void {
  const loaded = writer.compute(start, `load(thread,${writer.program.constant(module.value)})`);
  for (const { local, original } of names) {
    const name = writer.program.constant(original.name);
    const value = writer.compute(
      original.start,
      `loadName(${loaded},${name},${writer.program.constant(module.value)})`,
    );
    const binding = writer.binding(local);
    writer.write(`${variableName(binding)}=${value};`);
    writer.setAssigned(binding);
  }
}

function generateAssign(writer: CodeWriter, statement: AssignStatement): void {
  const { target, operator, operatorStart, value } = statement;
  if (operator === undefined && isSequence(target) && isSequence(value)) {
    if (target.elements.length === value.elements.length) {
      const atoms = value.elements.map((element) => copy(writer, writer.expression(element)));
      assignEach(writer, target.elements, atoms, operatorStart);
      return;
    }
  }
  if (operator === undefined) {
    writer.assign(target, writer.expression(value), operatorStart);
    return;
  }
  if (target.kind === 'index') {
    const object = writer.expression(target.object);
    const key = writer.expression(target.index);
    const old = writer.compute(target.bracket, `getIndex(thread,${object},${key})`);
    const result = augmented(writer, operator, old, writer.expression(value), operatorStart);
    writer.at(target.bracket, `setIndex(thread,${object},${key},${result});`);
  } else if (target.kind === 'dot') {
    const object = writer.expression(target.object);
    const name = writer.program.constant(target.name);
    const old = writer.compute(target.dot, `getAttribute(${object},${name})`);
    const result = augmented(writer, operator, old, writer.expression(value), operatorStart);
    writer.at(target.dot, `setAttribute(${object},${name},${result});`);
  } else {
    const old = writer.expression(target);
    const result = augmented(writer, operator, old, writer.expression(value), operatorStart);
    writer.assign(target, result, operatorStart);
  }
}

const isSequence = (expression: Expression) => expression.kind === 'tuple' || expression.kind === 'list';

/** Keeps a value: the variable or element that it is read from may change. */
function copy(writer: CodeWriter, value: string): string {
  const atom = writer.temporary();
  writer.write(`${atom}=${value};`);
  return atom;
}

function assignEach(
  writer: CodeWriter,
  targets: readonly Expression[],
  atoms: readonly string[],
  offset: number,
): void {
  for (const [i, target] of targets.entries()) writeAssignment(writer, target, atoms[i]!, offset);
}

/** Writes the assignment of an atom to a target. */
export function writeAssignment(writer: CodeWriter, target: Expression, value: string, offset: number): void {
  switch (target.kind) {
    case 'identifier': {
      const binding = writer.binding(target);
      writer.write(`${variableName(binding)}=${value};`);
      writer.setAssigned(binding);
      break;
    }
    case 'index': {
      const object = writer.expression(target.object);
      const key = writer.expression(target.index);
      writer.at(offset, `setIndex(thread,${object},${key},${value});`);
      break;
    }
    case 'dot': {
      const object = writer.expression(target.object);
      const name = writer.program.constant(target.name);
      writer.at(offset, `setAttribute(${object},${name},${value});`);
      break;
    }
    case 'tuple':
    case 'list': {
      // The elements are read before the first assignment: `a, b = b, a`.
      const items = writer.compute(offset, `unpack(thread,${value},${target.elements.length})`);
      const atoms = target.elements.map((_, i) => copy(writer, `${items}[${i}]`));
      assignEach(writer, target.elements, atoms, offset);
      break;
    }
  }
}
