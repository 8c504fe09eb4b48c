import type { Source } from '../syntax/source.js';
import type {
  CallExpression,
  Comprehension,
  Expression,
  ForStatement,
  Identifier,
  LoadStatement,
  Parameter,
  Statement,
  SyntaxTree,
  WhileStatement,
} from '../syntax/tree.js';
import { type NameOptions, Names } from './names.js';
import type { Binding, FunctionScope } from './scope.js';

/** Walks a syntax tree, binds its names, and checks what the grammar does not. */
export class Resolver {
  readonly names: Names;
  /** Enclosing loops and `if` statements in the current function. */
  #loops = 0;
  #conditions = 0;

  constructor(source: Source, options: NameOptions) {
    this.names = new Names(source, options);
  }

  resolveFile(tree: SyntaxTree): void {
    this.#statements(tree.statements);
    this.names.finish();
  }

  #statements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case 'expression':
        this.expression(statement.expression);
        break;
      case 'assign':
        this.expression(statement.value);
        this.#assign(statement.target, statement.operator !== undefined);
        break;
      case 'def':
        this.names.assign(statement.name);
        this.#function(statement, statement.name.name);
        break;
      case 'if':
        this.#requireFunction(statement.start, 'if statement');
        this.#conditions++;
        for (const { condition, body } of statement.branches) {
          this.expression(condition);
          this.#statements(body);
        }
        this.#statements(statement.otherwise ?? []);
        this.#conditions--;
        break;
      case 'for':
      case 'while':
        this.#loop(statement);
        break;
      case 'return':
        if (this.names.atTopLevel) {
          this.names.problem(statement.start, 'return statement not within a function');
        }
        if (statement.value !== undefined) this.expression(statement.value);
        break;
      case 'break':
      case 'continue':
        if (this.#loops === 0) this.names.problem(statement.start, `${statement.kind} not in a loop`);
        break;
      case 'load':
        this.#load(statement);
        break;
      case 'pass':
        break;
    }
  }

  #requireFunction(offset: number, what: string): void {
    if (!this.names.options.dialect.topLevelControl && this.names.atTopLevel) {
      this.names.problem(offset, `${what} not within a function`);
    }
  }

  #loop(statement: ForStatement | WhileStatement): void {
    if (statement.kind === 'for') {
      this.#requireFunction(statement.start, 'for loop');
      this.expression(statement.iterable);
      this.#assign(statement.target, false);
    } else {
      if (!this.names.options.dialect.while) {
        this.names.problem(statement.start, 'dialect does not support while loops');
      }
      this.#requireFunction(statement.start, 'while loop');
      this.expression(statement.condition);
    }
    this.#loops++;
    this.#statements(statement.body);
    this.#loops--;
  }

  #load(statement: LoadStatement): void {
    const { names } = this;
    if (!names.atTopLevel) names.problem(statement.start, 'load statement within a function');
    else if (this.#loops > 0) names.problem(statement.start, 'load statement within a loop');
    else if (this.#conditions > 0) names.problem(statement.start, 'load statement within a conditional');
    for (const { local, original } of statement.names) {
      if (original.name === '') {
        names.problem(original.start, 'load: empty identifier');
        continue;
      }
      if (original.name.startsWith('_')) {
        const message = `load: names with leading underscores are not exported: ${original.name}`;
        names.problem(original.start, message);
      }
      names.bindLoaded(local);
    }
  }

  #assign(target: Expression, augmented: boolean): void {
    switch (target.kind) {
      case 'identifier':
        this.names.assign(target);
        break;
      case 'index':
        this.expression(target.object);
        this.expression(target.index);
        break;
      case 'dot':
        this.expression(target.object);
        break;
      case 'tuple':
      case 'list':
        if (augmented) {
          const message = `can't use ${target.kind} expression in augmented assignment`;
          this.names.problem(target.start, message);
        }
        for (const element of target.elements) this.#assign(element, augmented);
        break;
      default:
        this.names.problem(target.start, `can't assign to ${describe(target)}`);
    }
  }

  expression(root: Expression): void {
    let expression = root;
    // A chain of operators is as deep as it is long.
    const rights: Expression[] = [];
    while (expression.kind === 'binary') {
      rights.push(expression.right);
      expression = expression.left;
    }
    this.#operand(expression);
    while (rights.length > 0) this.expression(rights.pop()!);
  }

  #operand(expression: Expression): void {
    switch (expression.kind) {
      case 'identifier':
        this.names.use(expression);
        break;
      case 'list':
      case 'tuple':
        for (const element of expression.elements) this.expression(element);
        break;
      case 'dict':
        for (const { key, value } of expression.entries) {
          this.expression(key);
          this.expression(value);
        }
        break;
      case 'comprehension':
        this.#comprehension(expression);
        break;
      case 'conditional':
        this.expression(expression.condition);
        this.expression(expression.whenTrue);
        this.expression(expression.whenFalse);
        break;
      case 'unary':
        this.expression(expression.operand);
        break;
      case 'dot':
        this.expression(expression.object);
        break;
      case 'call':
        this.expression(expression.callee);
        checkArguments(expression, (offset, message) => this.names.problem(offset, message));
        for (const { value } of expression.args) this.expression(value);
        break;
      case 'index':
        this.expression(expression.object);
        this.expression(expression.index);
        break;
      case 'slice':
        this.expression(expression.object);
        for (const part of [expression.from, expression.to, expression.step]) {
          if (part !== undefined) this.expression(part);
        }
        break;
      case 'lambda':
        this.#function(expression, 'lambda');
        break;
    }
  }

  /** The first iterable belongs to the enclosing block: `[x for x in x]`. */
  #comprehension({ body, clauses }: Comprehension): void {
    const [first, ...rest] = clauses;
    if (first?.kind !== 'for') throw new Error('a comprehension starts with for');
    this.expression(first.iterable);
    this.names.within('comprehension', undefined, () => {
      this.#assign(first.target, false);
      for (const clause of rest) {
        if (clause.kind === 'if') {
          this.expression(clause.condition);
        } else {
          this.#assign(clause.target, false);
          this.expression(clause.iterable);
        }
      }
      if ('colon' in body) {
        this.expression(body.key);
        this.expression(body.value);
      } else {
        this.expression(body);
      }
    });
  }

  #function(node: FunctionScope['node'], name: string): void {
    for (const parameter of node.parameters) {
      if (parameter.default !== undefined) this.expression(parameter.default);
    }
    const scope: FunctionScope = {
      name,
      node,
      parent: this.names.block.container.owner,
      parameters: [],
      keywordOnly: 0,
      varargs: undefined,
      kwargs: undefined,
      locals: [],
      free: new Set(),
    };
    this.names.functions.set(node, scope);
    const outerLoops = this.#loops;
    this.#loops = 0;
    this.names.within('function', scope, () => {
      bindParameters(this.names, scope);
      if (node.kind === 'def') this.#statements(node.body);
      else this.expression(node.body);
    });
    this.#loops = outerLoops;
  }
}

/** Returns how messages call an expression that cannot be assigned to. */
function describe({ kind }: Expression): string {
  switch (kind) {
    case 'int':
    case 'float':
    case 'string':
    case 'bytes':
      return 'literal';
    case 'call':
      return 'callexpr';
    case 'unary':
      return 'unaryexpr';
    case 'binary':
      return 'binaryexpr';
    case 'conditional':
      return 'condexpr';
    case 'slice':
      return 'sliceexpr';
    case 'lambda':
      return 'lambdaexpr';
    case 'dict':
      return 'dictexpr';
    default:
      return kind;
  }
}

const MAX_ARGUMENTS = 255;

/** Checks the order of the arguments of a call, and that no name occurs twice. */
function checkArguments(call: CallExpression, report: (offset: number, message: string) => void): void {
  const names = new Set<string>();
  let varargs = false;
  let kwargs = false;
  let positional = 0;
  const after = (offset: number, what: string) => {
    if (kwargs) report(offset, `${what} may not follow **kwargs`);
    else if (varargs) report(offset, `${what} may not follow *args`);
  };
  for (const { kind, name, start } of call.args) {
    if (kind === '**') {
      if (kwargs) report(start, 'multiple **kwargs not allowed');
      kwargs = true;
    } else if (kind === '*') {
      if (kwargs) report(start, '*args may not follow **kwargs');
      else if (varargs) report(start, 'multiple *args not allowed');
      varargs = true;
    } else if (kind === 'named') {
      after(start, 'keyword argument');
      if (names.has(name!)) report(start, `keyword argument "${name}" is repeated`);
      names.add(name!);
    } else {
      positional++;
      if (varargs || kwargs) after(start, 'positional argument');
      else if (names.size > 0) report(start, 'positional argument may not follow named');
    }
  }
  if (positional > MAX_ARGUMENTS) {
    report(call.start, `${positional} positional arguments in call, limit is ${MAX_ARGUMENTS}`);
  }
  if (names.size > MAX_ARGUMENTS) {
    report(call.start, `${names.size} keyword arguments in call, limit is ${MAX_ARGUMENTS}`);
  }
}

/** Binds the parameters of a function and checks their order. `*args` and `**kwargs` are bound last. */
function bindParameters(names: Names, scope: FunctionScope): void {
  let optional = false;
  let star: Parameter | undefined;
  let doubleStar: Parameter | undefined;
  const report = (offset: number, message: string) => names.problem(offset, message);
  for (const parameter of scope.node.parameters) {
    const { kind, start } = parameter;
    if (kind === '*') {
      if (doubleStar) report(start, `* parameter may not follow **${doubleStar.name!.name}`);
      else if (star) report(start, 'multiple * parameters not allowed');
      else star = parameter;
      continue;
    }
    if (kind === '**') {
      if (doubleStar) report(start, 'multiple ** parameters not allowed');
      doubleStar = parameter;
      continue;
    }
    if (doubleStar) report(start, `${kind} parameter may not follow **${doubleStar.name!.name}`);
    else if (star) scope.keywordOnly++;
    else if (optional && kind === 'required') report(start, 'required parameter may not follow optional');
    if (kind === 'optional') optional = true;
    const binding = bind(names, scope, parameter.name!);
    scope.parameters.push({ binding, default: parameter.default });
  }
  if (star !== undefined) {
    if (star.name !== undefined) scope.varargs = bind(names, scope, star.name);
    else if (scope.keywordOnly === 0) {
      report(star.start, 'bare * must be followed by keyword-only parameters');
    }
  }
  if (doubleStar !== undefined) scope.kwargs = bind(names, scope, doubleStar.name!);
}

function bind(names: Names, scope: FunctionScope, identifier: Identifier): Binding {
  const { binding, isNew } = names.bindLocal(identifier);
  if (!isNew) names.problem(identifier.start, `duplicate parameter: ${identifier.name}`);
  else scope.locals.pop();
  binding.isParameter = true;
  return binding;
}
