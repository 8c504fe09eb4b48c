import type { Source } from '../syntax/source.js';
import type { DefStatement, Identifier, LambdaExpression } from '../syntax/tree.js';
import { formatPosition } from '../values/position.js';
import { suggest } from '../values/spelling.js';
import type { Dialect } from './dialect.js';
import { type Binding, type BindingKind, Block, type FunctionScope } from './scope.js';

/** What the names of a program refer to. */
export interface Resolution {
  bindings: ReadonlyMap<Identifier, Binding>;
  functions: ReadonlyMap<DefStatement | LambdaExpression, FunctionScope>;
  /** In the order of the source. */
  globals: readonly Binding[];
  /** Variables outside of functions that are not globals: of comprehensions, and loaded names. */
  fileLocals: readonly Binding[];
  /** Used names that the host or the language defines. */
  external: readonly Binding[];
}

export interface NameOptions {
  dialect: Dialect;
  isPredeclared: (name: string) => boolean;
  isUniversal: (name: string) => boolean;
  knownNames?: Iterable<string>;
}

/** Problems that are kept; a file can have one for each of its characters. */
const MAX_PROBLEMS = 100;
/** Undefined names for which similar names are searched, and the most names that are compared. */
const MAX_SUGGESTIONS = 10;
const MAX_CANDIDATES = 1000;

/** Binds names and resolves their uses. */
export class Names {
  /** The first 100 found. */
  readonly problems: { message: string; offset: number }[] = [];
  /** Problems found after those. */
  omitted = 0;
  #suggestions = 0;
  readonly #bindings = new Map<Identifier, Binding>();
  readonly functions = new Map<DefStatement | LambdaExpression, FunctionScope>();
  readonly #globals = new Map<string, Binding>();
  readonly #fileLocals: Binding[] = [];
  readonly #external = new Map<string, Binding>();
  readonly #file = new Block('file', undefined, undefined);
  readonly #containers: Block[] = [this.#file];
  block: Block = this.#file;
  #count = 0;

  constructor(
    readonly source: Source,
    readonly options: NameOptions,
  ) {}

  get resolution(): Resolution {
    return {
      bindings: this.#bindings,
      functions: this.functions,
      globals: [...this.#globals.values()],
      fileLocals: this.#fileLocals,
      external: [...this.#external.values()],
    };
  }

  /** Whether the current block is in no function. */
  get atTopLevel(): boolean {
    return this.block.container.kind === 'file';
  }

  problem(offset: number, message: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push({ message, offset });
    else this.omitted++;
  }

  #create(
    name: string,
    kind: BindingKind,
    declaration: Identifier | undefined,
    owner?: FunctionScope,
  ): Binding {
    return { name, kind, id: this.#count++, declaration, owner, isParameter: false };
  }

  /** Enters a block, runs `inside`, and leaves it. */
  within(kind: 'function' | 'comprehension', owner: FunctionScope | undefined, inside: () => void): void {
    const outer = this.block;
    this.block = new Block(kind, outer, owner);
    if (kind === 'function') this.#containers.push(this.block);
    inside();
    this.block = outer;
  }

  /** Binds a name by assignment, `def` or as loop variable. */
  assign(identifier: Identifier): void {
    if (this.block.kind !== 'file') {
      this.bindLocal(identifier);
      return;
    }
    const { name } = identifier;
    const existing = this.#file.bindings.get(name) ?? this.#globals.get(name);
    if (existing === undefined) {
      const binding = this.#create(name, 'global', identifier);
      this.#globals.set(name, binding);
      this.#bindings.set(identifier, binding);
      return;
    }
    if (!this.options.dialect.globalReassign) {
      const position = formatPosition(this.source.positionAt(existing.declaration!.start));
      const kind = existing.kind === 'loaded' ? 'local' : existing.kind;
      this.problem(identifier.start, `cannot reassign ${kind} ${name} declared at ${position}`);
    }
    this.#bindings.set(identifier, existing);
  }

  /** Binds a name in the current block. Returns the binding, and whether it is new. */
  bindLocal(identifier: Identifier): { binding: Binding; isNew: boolean } {
    const { name } = identifier;
    const existing = this.block.bindings.get(name);
    const { owner } = this.block.container;
    const binding = existing ?? this.#create(name, 'local', identifier, owner);
    if (existing === undefined) {
      this.block.bindings.set(name, binding);
      if (owner === undefined) this.#fileLocals.push(binding);
      else owner.locals.push(binding);
    }
    this.#bindings.set(identifier, binding);
    return { binding, isNew: existing === undefined };
  }

  /** Binds a loaded name: visible in this file only, unless the dialect makes it a global. */
  bindLoaded(identifier: Identifier): void {
    const { name } = identifier;
    const { globalReassign, loadBindsGlobally } = this.options.dialect;
    if (loadBindsGlobally) {
      this.assign(identifier);
      return;
    }
    if (!globalReassign && (this.#file.bindings.has(name) || this.#globals.has(name))) {
      this.problem(identifier.start, `cannot reassign top-level ${name}`);
    }
    const existing = this.#file.bindings.get(name);
    const binding = existing ?? this.#create(name, 'loaded', identifier);
    if (existing === undefined) {
      this.#file.bindings.set(name, binding);
      this.#fileLocals.push(binding);
    }
    this.#bindings.set(identifier, binding);
  }

  /** Notes the use of a name. It may be bound later in its function or file, so it is resolved at the end. */
  use(identifier: Identifier): void {
    // Where globals are reassigned, a use before the assignment means the outer name.
    if (this.options.dialect.globalReassign && this.block.kind === 'file') {
      this.#bindings.set(identifier, this.#topLevelBinding(identifier, this.block));
    } else {
      this.block.container.uses.push({ identifier, block: this.block });
    }
  }

  /** Resolves the uses of all functions and the file. */
  finish(): void {
    for (const container of this.#containers) {
      for (const { identifier, block } of container.uses) {
        const binding = block.lookup(identifier.name, undefined) ?? this.#topLevelBinding(identifier, block);
        this.#bindings.set(identifier, binding);
        for (
          let scope = container.owner;
          binding.owner !== undefined && scope !== undefined && scope !== binding.owner;
          scope = scope.parent
        ) {
          // Then the scopes around it have it too.
          if (scope.free.has(binding)) break;
          scope.free.add(binding);
        }
      }
    }
  }

  #topLevelBinding(identifier: Identifier, block: Block): Binding {
    const { name } = identifier;
    const known = this.#file.bindings.get(name) ?? this.#globals.get(name) ?? this.#external.get(name);
    if (known !== undefined) return known;
    const { dialect, isPredeclared, isUniversal } = this.options;
    const isHost = isPredeclared(name);
    if (!isHost && !isUniversal(name)) {
      this.problem(identifier.start, `undefined: ${name}${this.#suggestion(name, block)}`);
    } else if (!isHost && name === 'set' && !dialect.set) {
      this.problem(identifier.start, 'dialect does not support sets');
    }
    const binding = this.#create(name, isHost ? 'predeclared' : 'universal', undefined);
    if (isHost || isUniversal(name)) this.#external.set(name, binding);
    return binding;
  }

  /** Returns a similar name for a message; for none where that would take long. */
  #suggestion(name: string, block: Block): string {
    if (this.#suggestions >= MAX_SUGGESTIONS) return '';
    this.#suggestions++;
    const names = [...(this.options.knownNames ?? [])];
    const add = (bindings: ReadonlyMap<string, Binding>) => {
      if (names.length + bindings.size <= MAX_CANDIDATES) names.push(...bindings.keys());
    };
    for (let b: Block | undefined = block; b !== undefined; b = b.parent) add(b.bindings);
    add(this.#globals);
    return suggest(name, names.sort());
  }
}
