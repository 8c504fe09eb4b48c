/** What a process gets to run a script. */
export interface ScriptTask {
  name: string;
  script: Uint8Array;
  /** A ResourceList. */
  input: Uint8Array;
  /** `ctx.environment`. */
  environment: Readonly<Record<string, string>>;
}

interface Header {
  name: string;
  /** Size of the script, which follows the line of the header. The input follows the script. */
  scriptBytes: number;
  inputBytes: number;
  environment: Readonly<Record<string, string>>;
}

/** Where a process gets its tasks from. */
export interface TaskInput {
  /** The bytes up to the next line end; undefined at the end of the input. */
  line(): Uint8Array | undefined;
  take(size: number): Uint8Array;
}

/** Returns what tells a process to run a script. */
export function writeTask({ name, script, input, environment }: ScriptTask): Buffer {
  const sizes = { scriptBytes: script.byteLength, inputBytes: input.byteLength };
  const header: Header = { name, ...sizes, environment };
  return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), script, input]);
}

/** Reads what `writeTask` wrote; undefined if there is no other task. */
export function readTask(from: TaskInput): ScriptTask | undefined {
  const line = from.line();
  if (line === undefined) return undefined;
  const { name, scriptBytes, inputBytes, environment } = JSON.parse(Buffer.from(line).toString()) as Header;
  const script = from.take(scriptBytes);
  return { name, script, input: from.take(inputBytes), environment };
}
