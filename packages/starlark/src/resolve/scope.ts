import type { DefStatement, Expression, Identifier, LambdaExpression } from '../syntax/tree.js';

export type BindingKind = 'local' | 'global' | 'loaded' | 'predeclared' | 'universal';

/** What a name refers to. */
export interface Binding {
  name: string;
  kind: BindingKind;
  /** Different for each binding of a program. */
  id: number;
  /** Where it is bound first; `undefined` for predeclared and universal names. */
  declaration: Identifier | undefined;
  /** The function whose variable it is. */
  owner: FunctionScope | undefined;
  /** Parameters always have a value. */
  isParameter: boolean;
}

/** A function and its variables. */
export interface FunctionScope {
  name: string;
  node: DefStatement | LambdaExpression;
  parent: FunctionScope | undefined;
  /** In the order of the syntax, keyword-only ones last, without `*args` and `**kwargs`. */
  parameters: { binding: Binding; default: Expression | undefined }[];
  keywordOnly: number;
  varargs: Binding | undefined;
  kwargs: Binding | undefined;
  /** Variables, with those of comprehensions and without parameters. */
  locals: Binding[];
  /** Variables of enclosing functions that it or a function in it uses. */
  free: Set<Binding>;
}

/** A use of a name, resolved when its function ends. */
interface Use {
  identifier: Identifier;
  block: Block;
}

/** A region of the program in which names are bound: the file, a function, or a comprehension. */
export class Block {
  readonly bindings = new Map<string, Binding>();
  /** Of a file or function block. */
  readonly uses: Use[] = [];

  constructor(
    readonly kind: 'file' | 'function' | 'comprehension',
    readonly parent: Block | undefined,
    readonly owner: FunctionScope | undefined,
  ) {}

  /** Returns the function or file that this is part of. */
  get container(): Block {
    return this.kind === 'comprehension' ? this.parent!.container : this;
  }

  /** Finds a name in this block and the enclosing ones, up to and including `last`. */
  lookup(name: string, last: Block | undefined): Binding | undefined {
    for (let block: Block | undefined = this; block !== undefined; block = block.parent) {
      const binding = block.bindings.get(name);
      if (binding !== undefined) return binding;
      if (block === last) break;
    }
    return undefined;
  }
}
