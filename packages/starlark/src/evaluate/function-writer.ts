import type { Binding, FunctionScope } from '../resolve/scope.js';
import type {
  DefStatement,
  DictExpression,
  Expression,
  Identifier,
  LambdaExpression,
  Statement,
} from '../syntax/tree.js';
import { Bytes } from '../values/bytes.js';
import { StarlarkFloat } from '../values/float.js';
import type { FunctionCode } from '../values/function-code.js';
import { CodeWriter, variableName } from './code-writer.js';
import { generateCall, optionalExpression } from './generate-call.js';
import { generateComprehension } from './generate-loop.js';
import { generateBinary, generateCondition, generateUnary } from './generate-operators.js';
import { generateStatements, writeAssignment } from './generate-statement.js';

/** Writes the code of a function or of the top level of a file. */
export class FunctionWriter extends CodeWriter {
  override condition(expression: Expression): string {
    return generateCondition(this, expression);
  }

  override assign(target: Expression, value: string, offset: number): void {
    writeAssignment(this, target, value, offset);
  }

  override expression(expression: Expression): string {
    const { program } = this;
    switch (expression.kind) {
      case 'identifier':
        return this.#variable(expression);
      case 'int':
      case 'string':
        return program.constant(expression.value);
      case 'float':
        return program.constant(new StarlarkFloat(expression.value));
      case 'bytes':
        return program.constant(new Bytes(expression.value));
      case 'list':
        return this.#sequence('List', expression.elements);
      case 'tuple':
        return this.#sequence('Tuple', expression.elements);
      case 'dict':
        return this.#dict(expression);
      case 'comprehension':
        return generateComprehension(this, expression);
      case 'conditional':
        return this.#conditional(expression);
      case 'unary':
        return generateUnary(this, expression);
      case 'binary':
        return generateBinary(this, expression);
      case 'dot': {
        const object = this.expression(expression.object);
        return this.compute(expression.dot, `getAttribute(${object},${program.constant(expression.name)})`);
      }
      case 'call':
        return generateCall(this, expression);
      case 'index': {
        const object = this.expression(expression.object);
        const index = this.expression(expression.index);
        return this.compute(expression.bracket, `getIndex(thread,${object},${index})`);
      }
      case 'slice': {
        const object = this.expression(expression.object);
        const parts = [expression.from, expression.to, expression.step].map((part) =>
          optionalExpression(this, part),
        );
        return this.compute(expression.bracket, `getSlice(thread,${object},${parts})`);
      }
      case 'lambda':
        return this.functionValue(expression);
    }
  }

  /** A variable without value is an error where it is used. */
  #variable(identifier: Identifier): string {
    const binding = this.binding(identifier);
    const name = variableName(binding);
    const { kind, isParameter, declaration } = binding;
    if (kind === 'predeclared' || kind === 'universal' || isParameter) return name;
    if (binding.owner === this.scope && this.isAssigned(binding)) return name;
    const scope = kind === 'global' ? 'global' : 'local';
    const text = this.program.constant(declaration!.name);
    this.at(identifier.start, `if(${name}===undefined)unassigned('${scope}',${text});`);
    return name;
  }

  #sequence(type: 'List' | 'Tuple', elements: readonly Expression[]): string {
    const atoms = elements.map((element) => this.expression(element));
    const result = this.temporary();
    if (atoms.length === 0 && type === 'Tuple') this.write(`${result}=EMPTY_TUPLE;`);
    else this.write(`thread.allocate(${32 + atoms.length * 8});${result}=new ${type}([${atoms}]);`);
    return result;
  }

  #dict({ entries }: DictExpression): string {
    const result = this.temporary();
    this.write(`thread.allocate(128);${result}=new Dict();`);
    for (const { key, value, colon } of entries) {
      const keyAtom = this.expression(key);
      const valueAtom = this.expression(value);
      this.at(colon, `addEntry(thread,${result},${keyAtom},${valueAtom});`);
    }
    return result;
  }

  #conditional(expression: Expression & { kind: 'conditional' }): string {
    const condition = this.condition(expression.condition);
    const result = this.temporary();
    this.write(`if(${condition}){`);
    this.maybe(() => this.write(`${result}=${this.expression(expression.whenTrue)};`));
    this.write('}else{');
    this.maybe(() => this.write(`${result}=${this.expression(expression.whenFalse)};`));
    this.write('}');
    return result;
  }

  override functionValue(node: DefStatement | LambdaExpression): string {
    const scope = this.program.resolution.functions.get(node)!;
    const code = this.program.code(functionCode(this, scope));
    const defaults = scope.parameters.map((parameter) =>
      parameter.default === undefined ? 'undefined' : this.expression(parameter.default),
    );
    const inner = new FunctionWriter(this.program, scope);
    const text = inner.#function(scope, node, code);
    const free = [...scope.free].map(variableName);
    const reachable = free.length === 0 ? 'nothingReachable' : `()=>[${free}]`;
    const result = this.temporary();
    this.write(
      `thread.allocate(128);${result}=new StarlarkFunction(${code},${text},[${defaults}],${reachable});`,
    );
    return result;
  }

  #function(scope: FunctionScope, node: DefStatement | LambdaExpression, code: string): string {
    const parameters = [...scope.parameters.map(({ binding }) => binding), scope.varargs, scope.kwargs]
      .filter((binding): binding is Binding => binding !== undefined)
      .map(variableName);
    for (const local of scope.locals) this.declare(variableName(local));
    if (node.kind === 'def') {
      generateStatements(this, node.body);
      this.write('return null;');
    } else {
      this.write(`return ${this.expression(node.body)};`);
    }
    return `function(${['thread', ...parameters]}){${this.wrapped(code)}}`;
  }

  /** Returns the body: declarations, the code, and what happens when it fails. */
  wrapped(code: string): string {
    const abandon = this.loops.map((loop) => `abandonLoop(${loop});`).join('');
    // Added, not joined: a join copies the code of inner functions, once for each function around them.
    let lines = '';
    for (const line of this.lines) lines += `${line}\n`;
    const failed = `catch(error){${abandon}throw unwind(error,thread,${code},p);}`;
    return `let ${['p=0', ...this.declared]};\ntry{\n${lines}}${failed}`;
  }

  /** Writes the statements of the top level. */
  file(statements: readonly Statement[]): void {
    generateStatements(this, statements);
  }
}

function functionCode(writer: CodeWriter, scope: FunctionScope): FunctionCode {
  const { source, recursion } = writer.program;
  const first = scope.node.kind === 'def' ? scope.node.body[0] : undefined;
  const doc =
    first?.kind === 'expression' && first.expression.kind === 'string' ? first.expression.value : undefined;
  return {
    name: scope.name,
    position: source.positionAt(scope.node.start),
    parameters: scope.parameters.map(({ binding }) => binding.name),
    keywordOnly: scope.keywordOnly,
    hasVarargs: scope.varargs !== undefined,
    hasKwargs: scope.kwargs !== undefined,
    doc,
    recursion,
    active: false,
  };
}
