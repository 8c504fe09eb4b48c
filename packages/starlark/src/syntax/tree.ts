import type { Int } from '../values/integer.js';
import type { Source } from './source.js';

/**
 * The syntax tree. Each node has the offsets of its text in the source, in UTF-16 code units. Parentheses leave no
 * node.
 */
interface Node {
  start: number;
  end: number;
}

/** A whole file. */
export interface SyntaxTree {
  source: Source;
  statements: Statement[];
}

export interface Identifier extends Node {
  kind: 'identifier';
  name: string;
}

export interface IntLiteral extends Node {
  kind: 'int';
  value: Int;
}

export interface FloatLiteral extends Node {
  kind: 'float';
  value: number;
}

export interface StringLiteral extends Node {
  kind: 'string';
  value: string;
}

export interface BytesLiteral extends Node {
  kind: 'bytes';
  value: Uint8Array;
}

export interface ListExpression extends Node {
  kind: 'list';
  elements: Expression[];
}

export interface TupleExpression extends Node {
  kind: 'tuple';
  elements: Expression[];
}

export interface DictEntry {
  key: Expression;
  value: Expression;
  /** The offset of the colon, where errors of the entry are reported. */
  colon: number;
}

export interface DictExpression extends Node {
  kind: 'dict';
  entries: DictEntry[];
}

/** `for target in iterable` or `if condition` of a comprehension. */
export type Clause =
  | (Node & { kind: 'for'; target: Expression; iterable: Expression })
  | (Node & { kind: 'if'; condition: Expression });

/** `[body for …]` or `{key: value for …}`. The first clause is a `for`. */
export interface Comprehension extends Node {
  kind: 'comprehension';
  body: Expression | DictEntry;
  clauses: Clause[];
}

/** `whenTrue if condition else whenFalse`. */
export interface ConditionalExpression extends Node {
  kind: 'conditional';
  condition: Expression;
  whenTrue: Expression;
  whenFalse: Expression;
}

export interface UnaryExpression extends Node {
  kind: 'unary';
  operator: '-' | '+' | '~' | 'not';
  operand: Expression;
}

export type ArithmeticOperator = '+' | '-' | '*' | '/' | '//' | '%' | '&' | '|' | '^' | '<<' | '>>';

export type BinaryExpressionOperator =
  | 'or'
  | 'and'
  | '=='
  | '!='
  | '<'
  | '>'
  | '<='
  | '>='
  | 'in'
  | 'not in'
  | ArithmeticOperator;

export interface BinaryExpression extends Node {
  kind: 'binary';
  operator: BinaryExpressionOperator;
  /** The offset of the operator, where errors are reported. */
  operatorStart: number;
  left: Expression;
  right: Expression;
}

/** `object.name`. */
export interface DotExpression extends Node {
  kind: 'dot';
  object: Expression;
  name: string;
  /** The offset of the dot. */
  dot: number;
}

/** `value`, `name=value`, `*value` or `**value`. */
export interface Argument extends Node {
  kind: 'positional' | 'named' | '*' | '**';
  /** Of a named argument. */
  name?: string;
  value: Expression;
}

export interface CallExpression extends Node {
  kind: 'call';
  callee: Expression;
  args: Argument[];
  /** The offset of the opening parenthesis. */
  paren: number;
}

export interface IndexExpression extends Node {
  kind: 'index';
  object: Expression;
  index: Expression;
  /** The offset of the opening bracket. */
  bracket: number;
}

export interface SliceExpression extends Node {
  kind: 'slice';
  object: Expression;
  from: Expression | undefined;
  to: Expression | undefined;
  step: Expression | undefined;
  bracket: number;
}

/** `name`, `name=default`, `*name`, `*` (without name) or `**name`. */
export interface Parameter extends Node {
  kind: 'required' | 'optional' | '*' | '**';
  name: Identifier | undefined;
  default?: Expression;
}

export interface LambdaExpression extends Node {
  kind: 'lambda';
  parameters: Parameter[];
  body: Expression;
}

export type Expression =
  | Identifier
  | IntLiteral
  | FloatLiteral
  | StringLiteral
  | BytesLiteral
  | ListExpression
  | TupleExpression
  | DictExpression
  | Comprehension
  | ConditionalExpression
  | UnaryExpression
  | BinaryExpression
  | DotExpression
  | CallExpression
  | IndexExpression
  | SliceExpression
  | LambdaExpression;

export interface DefStatement extends Node {
  kind: 'def';
  name: Identifier;
  parameters: Parameter[];
  body: Statement[];
}

export interface IfStatement extends Node {
  kind: 'if';
  /** `if` and each `elif`. */
  branches: { condition: Expression; body: Statement[] }[];
  otherwise: Statement[] | undefined;
}

export interface ForStatement extends Node {
  kind: 'for';
  target: Expression;
  iterable: Expression;
  body: Statement[];
}

export interface WhileStatement extends Node {
  kind: 'while';
  condition: Expression;
  body: Statement[];
}

export interface ReturnStatement extends Node {
  kind: 'return';
  value: Expression | undefined;
}

export interface BranchStatement extends Node {
  kind: 'break' | 'continue' | 'pass';
}

/** `target = value` or `target += value`. */
export interface AssignStatement extends Node {
  kind: 'assign';
  target: Expression;
  /** `undefined` for `=`. */
  operator: ArithmeticOperator | undefined;
  operatorStart: number;
  value: Expression;
}

export interface ExpressionStatement extends Node {
  kind: 'expression';
  expression: Expression;
}

/** `load("module", "name", local="name")`. */
export interface LoadStatement extends Node {
  kind: 'load';
  module: StringLiteral;
  names: { local: Identifier; original: Identifier }[];
}

export type Statement =
  | DefStatement
  | IfStatement
  | ForStatement
  | WhileStatement
  | ReturnStatement
  | BranchStatement
  | AssignStatement
  | ExpressionStatement
  | LoadStatement;
