import { EvaluationError } from './evaluation-error.js';

/** What a run may use. Every limit ends in an `EvaluationError` with `limit`. */
export interface Limits {
  /** Loop iterations, calls, and elements that built-in functions handle. */
  maxSteps: number;
  /** Nested calls. */
  maxDepth: number;
  /** Bytes allocated in total, an estimate; freed memory counts too. */
  maxMemoryBytes: number;
  /** Bytes printed. */
  maxOutputBytes: number;
}

export const DEFAULT_LIMITS: Readonly<Limits> = {
  maxSteps: 1_000_000_000,
  maxDepth: 400,
  maxMemoryBytes: 512 * 1024 * 1024,
  maxOutputBytes: 16 * 1024 * 1024,
};

export interface ThreadOptions {
  limits?: Partial<Limits>;
  /** Receives each line of `print`, without line end. */
  print?: (line: string) => void;
  /** Read about every million steps; ends the run when `aborted` is true. An AbortSignal fits. */
  signal?: { readonly aborted: boolean };
}

/** Steps between two looks at the signal. */
const SLICE = 1_000_000;

/** One run of Starlark code: what it has used of its limits, and where it prints. */
export class Thread {
  readonly limits: Readonly<Limits>;
  /** Steps left before `refuel`. The evaluator counts it down directly. */
  fuel: number;
  /** Nested calls now. */
  depth = 0;
  #slice: number;
  #spent = 0;
  #memory = 0;
  #output = 0;
  readonly #print: (line: string) => void;
  readonly #signal: { readonly aborted: boolean } | undefined;

  constructor(options: ThreadOptions = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#print = options.print ?? (() => {});
    this.#signal = options.signal;
    this.#slice = Math.min(SLICE, this.limits.maxSteps);
    this.fuel = this.#slice;
  }

  /** Steps used so far. */
  get steps(): number {
    return this.#spent + this.#slice - this.fuel;
  }

  /** Bytes allocated so far. */
  get memory(): number {
    return this.#memory;
  }

  /** Counts `n` steps: a built-in function counts the elements that it handles. What is not a count ends the run. */
  step(n: number): void {
    this.fuel -= n >= 0 ? Math.ceil(n) : Infinity;
    if (this.fuel < 0) this.refuel();
  }

  /** Starts the next slice of steps. Throws when no steps are left or the signal says so. */
  refuel(): void {
    this.#spent += this.#slice - this.fuel;
    if (this.#signal?.aborted) throw new EvaluationError('aborted', { limit: 'aborted' });
    const left = this.limits.maxSteps - this.#spent;
    this.#slice = Math.min(SLICE, Math.max(left, 0));
    this.fuel = this.#slice;
    if (!(left >= 0)) {
      throw new EvaluationError(`too many steps: the limit is ${this.limits.maxSteps}`, { limit: 'steps' });
    }
  }

  /** Counts memory before it is allocated. */
  allocate(bytes: number): void {
    this.#memory += bytes;
    if (!(this.#memory <= this.limits.maxMemoryBytes)) {
      throw new EvaluationError(`too much memory: the limit is ${this.limits.maxMemoryBytes} bytes`, {
        limit: 'memory',
      });
    }
  }

  /** Throws the error for too many nested calls. */
  overflow(): never {
    throw new EvaluationError(`Starlark stack overflow: more than ${this.limits.maxDepth} nested calls`, {
      limit: 'depth',
    });
  }

  /** Throws the error for a function that calls itself where that is not allowed. */
  recursion(name: string): never {
    throw new EvaluationError(`function ${name} called recursively`);
  }

  /** Prints one line. */
  print(line: string): void {
    this.#output += line.length + 1;
    if (this.#output > this.limits.maxOutputBytes) {
      throw new EvaluationError(`too much output: the limit is ${this.limits.maxOutputBytes} bytes`, {
        limit: 'output',
      });
    }
    this.#print(line);
  }
}
