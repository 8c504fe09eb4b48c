/** What a process gets to run a script. */
export interface ScriptTask {
  name: string;
  script: Uint8Array;
  /** A ResourceList. */
  input: Uint8Array;
  /** `ctx.environment`. */
  environment: Readonly<Record<string, string>>;
  measuresMemory?: boolean;
}

interface Header {
  name: string;
  /** Size of the script, which follows the line of the header. The input follows the script. */
  scriptBytes: number;
  inputBytes: number;
  environment: Readonly<Record<string, string>>;
  measuresMemory: boolean;
}

/** Where a process gets its tasks from. */
export interface TaskInput {
  /** The bytes up to the next line end; undefined at the end of the input. */
  line(): Uint8Array | undefined;
  take(size: number): Uint8Array;
}

/** Returns what tells a process to run a script. */
export function writeTask(task: ScriptTask): Buffer {
  const { name, script, input, environment, measuresMemory = false } = task;
  const sizes = { scriptBytes: script.byteLength, inputBytes: input.byteLength };
  const header: Header = { name, ...sizes, environment, measuresMemory };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), script, input]);
}

/** Reads what `writeTask` wrote; undefined if there is no other task. */
export function readTask(from: TaskInput): ScriptTask | undefined {
  const line = from.line();
  if (line === undefined) return undefined;
  const { scriptBytes, inputBytes, ...task } = JSON.parse(Buffer.from(line).toString()) as Header;
  const script = from.take(scriptBytes);
  return { ...task, script, input: from.take(inputBytes) };
}
